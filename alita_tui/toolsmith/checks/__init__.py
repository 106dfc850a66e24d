"""The checks of a draft: each gathers one kind of evidence and reports what it observed.

May import: spine, the toolsmith's pure modules. Never: the host's import of a draft's code.
"""
