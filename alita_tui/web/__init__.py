"""Searching the web, GitHub and PyPI, and reading pages as text. Everything it returns is untrusted.

May import: the spine; httpx and BeautifulSoup inside functions. Never: another room, and never a
connection to an address that `spine.address.AddressPolicy` did not allow.
"""
