"""TLS that ends at the broker: a certificate authority that only containers trust, and TLS over a pipe."""

from __future__ import annotations

import asyncio
import os
import ssl
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import TYPE_CHECKING, Any

from alita_tui.sandbox.broker.streams import Pipe

if TYPE_CHECKING:
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey

_DAY = timedelta(days=1)
_PIECE = 1 << 16


class Authority:
    """Signs certificates for granted hosts. Its key never leaves the process, and no person trusts it."""

    def __init__(self) -> None:
        self._contexts: dict[str, ssl.SSLContext] = {}

    @cached_property
    def _root(self) -> tuple[x509.Certificate, EllipticCurvePrivateKey]:
        key = new_key()
        return certificate("alita sandbox broker", key, None), key

    @cached_property
    def certificate(self) -> str:
        """Return its own certificate as PEM, for the tool to trust. Takes some milliseconds the first time."""
        return pem(self._root[0])

    @cached_property
    def fingerprint(self) -> str:
        """Return the SHA-256 of its public key (RFC 7469, 2.4) as base64; a browser takes it as the key to trust."""
        import base64
        from hashlib import sha256

        from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

        key = self._root[1].public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
        return base64.b64encode(sha256(key).digest()).decode()

    def context(self, host: str) -> ssl.SSLContext:
        """Return the TLS context of a server with this name. Takes some milliseconds the first time."""
        if host not in self._contexts:
            key = new_key()
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            memory_fd = os.memfd_create("certificate")  # the library reads files only; this one is in memory
            try:
                chain = pem(certificate(host, key, self._root)) + self.certificate
                os.write(memory_fd, key_pem(key) + chain.encode())
                context.load_cert_chain(f"/proc/self/fd/{memory_fd}")
            finally:
                os.close(memory_fd)
            context.set_alpn_protocols(["http/1.1"])
            self._contexts[host] = context
        return self._contexts[host]


def new_key() -> EllipticCurvePrivateKey:
    """Return a new private key."""
    from cryptography.hazmat.primitives.asymmetric import ec

    return ec.generate_private_key(ec.SECP256R1())


def key_pem(key: EllipticCurvePrivateKey) -> bytes:
    """Return a private key as PEM, not encrypted."""
    from cryptography.hazmat.primitives import serialization as form

    return key.private_bytes(form.Encoding.PEM, form.PrivateFormat.PKCS8, form.NoEncryption())


def pem(certificate: x509.Certificate) -> str:
    """Return a certificate as text."""
    from cryptography.hazmat.primitives.serialization import Encoding

    return certificate.public_bytes(Encoding.PEM).decode()


def certificate(
    name: str,
    key: EllipticCurvePrivateKey,
    signer: tuple[x509.Certificate, EllipticCurvePrivateKey] | None,
    *,
    days: int = 30,
    any_peer: bool = False,
) -> x509.Certificate:
    """Return a certificate for a name, signed by the signer or, without one, by itself (RFC 5280).

    It is valid for the server of that name, or with `any_peer` for client and server under any name.
    """
    from ipaddress import ip_address

    from cryptography import x509
    from cryptography.hazmat.primitives import hashes
    from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name[:64])])
    issuer, signing_key = (signer[0].subject, signer[1]) if signer else (subject, key)
    now = datetime.now(UTC)
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _DAY)
        .not_valid_after(now + days * _DAY)
        .add_extension(x509.BasicConstraints(ca=signer is None, path_length=None), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(signing_key.public_key()), critical=False
        )
        .add_extension(_usage(signer is None), critical=True)
    )
    if signer and any_peer:
        both_usages = [ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]
        builder = builder.add_extension(x509.ExtendedKeyUsage(both_usages), critical=False)
    elif signer:
        try:
            alternative_name: x509.GeneralName = x509.IPAddress(ip_address(name))
        except ValueError:
            alternative_name = x509.DNSName(name)
        builder = builder.add_extension(
            x509.SubjectAlternativeName([alternative_name]), critical=False
        ).add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
    return builder.sign(signing_key, hashes.SHA256())


def _usage(signs: bool) -> Any:
    from cryptography import x509

    return x509.KeyUsage(
        digital_signature=not signs, key_cert_sign=signs, crl_sign=signs, content_commitment=False,
        key_encipherment=False, data_encipherment=False, key_agreement=False, encipher_only=False,
        decipher_only=False,
    )  # fmt: skip


class TlsPipe:
    """TLS over a pipe: the client's side with a `host` to talk to, else the server's."""

    def __init__(self, pipe: Pipe, context: ssl.SSLContext, *, host: str = "") -> None:
        self._pipe = pipe
        self._incoming = ssl.MemoryBIO()
        self._outgoing = ssl.MemoryBIO()
        self._tls = context.wrap_bio(
            self._incoming, self._outgoing, server_side=not host, server_hostname=host or None
        )
        self._flush_lock = asyncio.Lock()

    async def shake_hands(self) -> None:
        """Shake hands. Raise ssl.SSLError, also where one side does not trust the other's certificate."""
        while True:
            try:
                self._tls.do_handshake()
                return await self._flush()
            except ssl.SSLWantReadError:
                await self._receive()

    async def read(self) -> bytes:
        """Return some bytes; none at the end."""
        while True:
            try:
                return self._tls.read(_PIECE)
            except ssl.SSLWantReadError:
                await self._receive()
            except (ssl.SSLZeroReturnError, ssl.SSLEOFError):
                return b""

    async def write(self, data: bytes) -> None:
        """Write, waiting until the bytes are taken."""
        self._tls.write(data)
        await self._flush()

    async def _receive(self) -> None:
        await self._flush()
        data = await self._pipe.read()
        if data:
            self._incoming.write(data)
        else:
            self._incoming.write_eof()

    async def _flush(self) -> None:
        async with self._flush_lock:
            if self._outgoing.pending:
                await self._pipe.write(self._outgoing.read())
