"""The parts of an exported server: these files are copied unchanged, and do not depend on alita."""
