"""Membership of a cluster: it has its own certificate authority, which signs a certificate for each machine.

Certificates hold no host names, because machines of a cluster come and go, and Dask does not compare the names. So the
certificate alone proves membership, for every role; that is why an authority signs for one cluster only.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from alita_tui.events import Value
from alita_tui.sandbox.broker.tls import certificate, key_pem, new_key, pem
from alita_tui.spine.errors import ConfigError, StoreError
from alita_tui.store.disk import make_folder, replace, store_error

AUTHORITY_DAYS, MACHINE_DAYS = 365, 90
_AUTHORITY, _AUTHORITY_KEY = "authority.pem", "authority.key"
_MACHINE, _MACHINE_KEY = "machine.pem", "machine.key"


class Credentials(Value, frozen=True):
    """The files of a machine's certificate and key, and of the authority that it trusts."""

    authority: str
    certificate: str
    key: str


def credentials(folder: Path) -> Credentials:
    """Return this machine's credentials. Raises ConfigError if they are missing, readable by others or expired."""
    from cryptography import x509

    files = [folder / name for name in (_AUTHORITY, _MACHINE, _MACHINE_KEY)]
    for file in files:
        if not file.is_file():
            raise ConfigError(
                f"This machine is part of no cluster: {file} is missing.",
                hint="Make a cluster with `alita worker --init`, or bring its files from the machine that did.",
            )
    if files[2].stat().st_mode & 0o077:
        raise ConfigError(f"{files[2]} can be read by others.", hint=f"Mend it with: chmod 600 {files[2]}")
    for file in files[:2]:
        try:
            end = x509.load_pem_x509_certificate(file.read_bytes()).not_valid_after_utc
        except (OSError, ValueError) as error:
            raise ConfigError(f"{file} is not a certificate.") from error
        if end <= datetime.now(UTC):
            raise ConfigError(
                f"{file} ended on {end:%Y-%m-%d}.",
                hint="Make new ones with `alita worker --init` where the cluster was made.",
            )
    return Credentials(authority=str(files[0]), certificate=str(files[1]), key=str(files[2]))


def make_cluster(folder: Path) -> bool:
    """Create an authority and this machine's certificate; if there is an authority, only a new certificate.

    Returns True if the authority is new. Raises StoreError, ConfigError.
    """
    is_new = not (folder / _AUTHORITY_KEY).exists()
    if is_new and (folder / _AUTHORITY).exists():
        raise ConfigError(
            f"{folder / _AUTHORITY} is the authority of another machine, whose key is not here.",
            hint="Make certificates there: alita worker --init --to FOLDER",
        )
    make_folder(folder)
    if is_new or _has_expired(folder / _AUTHORITY):
        key = new_key()
        name = f"alita cluster {os.urandom(4).hex()}"
        authority = certificate(name, key, None, days=AUTHORITY_DAYS)
        _write(folder / _AUTHORITY_KEY, [key_pem(key)])
        _write(folder / _AUTHORITY, [pem(authority).encode()])
        is_new = True
    _write_machine(folder, folder, "machine")
    return is_new


def sign_for(folder: Path, destination: Path) -> None:
    """Write the credentials of another machine into an empty folder; the authority's key is not among them.

    Raises StoreError, ConfigError.
    """
    if not (folder / _AUTHORITY_KEY).exists():
        raise ConfigError(f"{folder} holds no authority.", hint="Make one with: alita worker --init")
    with suppress(OSError):
        if any(destination.iterdir()):
            raise ConfigError(f"{destination} is not empty.", hint="Name a new folder.")
    make_folder(destination)
    destination.chmod(0o700)
    _write(destination / _AUTHORITY, [(folder / _AUTHORITY).read_bytes()])
    _write_machine(folder, destination, destination.name)


def _write_machine(folder: Path, destination: Path, name: str) -> None:
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    try:
        signer = x509.load_pem_x509_certificate((folder / _AUTHORITY).read_bytes())
        signing = load_pem_private_key((folder / _AUTHORITY_KEY).read_bytes(), None)
    except (OSError, ValueError) as error:
        raise StoreError(f"The authority in {folder} cannot be read: {error}.") from error
    assert isinstance(signing, EllipticCurvePrivateKey)
    key = new_key()
    machine_certificate = certificate(name, key, (signer, signing), days=MACHINE_DAYS, any_peer=True)
    _write(destination / _MACHINE_KEY, [key_pem(key)])
    _write(destination / _MACHINE, [pem(machine_certificate).encode()])


def _has_expired(path: Path) -> bool:
    from cryptography import x509

    try:
        return x509.load_pem_x509_certificate(path.read_bytes()).not_valid_after_utc <= datetime.now(UTC)
    except (OSError, ValueError) as error:
        raise StoreError(f"{path} is not a certificate.") from error


def _write(path: Path, pieces: Sequence[bytes]) -> None:
    try:
        replace(path, pieces)
    except OSError as error:
        raise store_error("written", path, error) from error
