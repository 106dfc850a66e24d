"""The Model Context Protocol, both ways: serve the library to any client, use the tools of other servers.

Beside it what else goes between agents: Agent Skills, and tools handed over to other programs.
"""
