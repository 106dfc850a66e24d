"""Artefacts: their media types, the part that a model sees, how arguments refer to them.

Their bytes are stored by `store.artefacts`.
"""
