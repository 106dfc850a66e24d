"""The library as a server of the Model Context Protocol: what any client may call, and what it gets back."""
