"""The parts of a server that is handed over: it has these files as they are, and knows nothing of alita."""
