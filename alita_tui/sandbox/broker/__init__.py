"""The host's side of what an approved tool is granted: hosts, secrets, workspace files, model calls.

Each run has its `RunGrants`; the tool speaks HTTP to the broker over the warden's channel. May import: the spine.
Never: a request that the grants do not name, or that is not recorded.
"""
