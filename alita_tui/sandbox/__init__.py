"""The wall around generated code: rootless Podman, one fresh attested container for every run.

May import: spine. The only room that talks to Podman. Never: a run outside of a container.
"""
