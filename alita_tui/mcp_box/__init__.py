"""The Model Context Protocol, both ways: serve the library to any client, use the tools of other servers.

It also holds Agent Skills, and the export of tools to other programs.
"""
