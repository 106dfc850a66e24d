"""PID 1 of every container: packed into one archive, mounted read-only, run with `python3 -I -S`.

May import: the standard library, and itself. Never: anything that is not in the base image.
"""
