"""alita: an agent that builds its own tools, and runs none that you did not approve."""

__version__ = "0.2.0"
