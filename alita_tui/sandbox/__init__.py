"""The sandbox of generated code: rootless Podman, one fresh attested container for every run.

One run: `fleet` picks an engine, `engine` takes a container from `pool` (or `sessions`), `conversation` gives it the
job and returns the report. `containers` creates what waits there, by `policy`, and checks it by `attestation`; inside
runs `warden`, and what a tool is granted goes through `broker`.

May import: spine. The only room that talks to Podman. Never: a run outside of a container.
"""
