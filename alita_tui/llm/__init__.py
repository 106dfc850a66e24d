"""Models: the vendors' SDKs behind one protocol, a recorded model, prices, keys, presets.

May import: spine. The only room that imports `anthropic` or `openai`, and only when first called.
"""
