"""Protocols between feature packages, by topic: one package implements each, `app` joins them."""
