"""The gates after a draft's own tests: each looks at one thing and says what it saw.

May import: spine, the toolsmith's pure modules. Never: the host's import of a draft's code.
"""
