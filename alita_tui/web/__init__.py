"""Searching the web, GitHub and PyPI, and reading pages as text. Everything it returns is untrusted.

May import: events and spine; httpx inside functions; BeautifulSoup, trafilatura and pypdf in the process that
parses. Never: another room, and never a connection to an address that `spine.address.AddressPolicy` did not allow.
"""
