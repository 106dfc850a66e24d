"""The sandbox of generated code: rootless Podman, one fresh attested container for every run.

A run: `fleet` picks an engine, `engine` takes a container from `pool` or `sessions`, `conversation` runs the job in it.
`containers` creates them by `policy` and checks them by `attestation`; `warden` runs inside, `broker` grants access.

May import: spine. The only room that talks to Podman. Never: a run outside of a container.
"""
