"""Texts from outside the session that are given with a task: a repository, documents, the person's preferences.

May import: alita_tui.spine. Never: a sibling room. Everything it reads but the preferences is untrusted.
"""
