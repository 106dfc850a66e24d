"""Panes and controls. Each takes view models, posts messages and mounts alone in a bare app.

May import: console.actions, view, spine. Never: a screen, `self.app` beyond what Textual itself offers.
"""
