"""The viewer: a file of the session as table, picture, Markdown, JSON, code, text or bytes."""
