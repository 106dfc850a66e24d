"""Artefacts: what kind of file it is, what a model is shown of it, how arguments refer to it.

Their bytes are kept by `store.artefacts`.
"""
