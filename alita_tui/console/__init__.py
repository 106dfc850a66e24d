"""The full-screen console: one stage folds the stream, widgets draw its view and post messages.

May import: spine, view, textual. Never: the store, the engine, the sandbox or an SDK; no colour outside
themes/. Another session is opened by leaving: the app returns `Switch(...)` and `app` starts it anew.
"""
