"""The stream: events, envelopes, commands, ports, laws. Pure values and protocols.

May import: the standard library and msgspec. Never: any other room, any I/O.
"""
