"""`alita worker` on a machine without Dask: certificates, addresses, and what to type."""

from __future__ import annotations

import ssl
import stat
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from typer.testing import CliRunner, Result

from alita_tui.cli.main import cli
from alita_tui.mapping.cluster.addresses import Address, address
from alita_tui.mapping.cluster.authority import credentials
from alita_tui.spine.errors import ConfigError, UsageError


def worker(home: Path, *words: str) -> Result:
    return CliRunner().invoke(cli, ["--home", str(home), "worker", *words])


def test_a_cluster_is_made_and_a_machine_is_let_in(tmp_path: Path) -> None:
    home, other = tmp_path / "home", tmp_path / "other"
    made = worker(home, "--init")
    assert made.exit_code == 0 and "new authority" in made.stdout and "--init --to" in made.stdout
    assert worker(home, "--init", "--to", str(other)).exit_code == 0
    here = home / "cluster"
    assert {one.name for one in here.iterdir()} == {
        "authority.pem",
        "authority.key",
        "machine.pem",
        "machine.key",
    }
    assert {one.name for one in other.iterdir()} == {"authority.pem", "machine.pem", "machine.key"}
    for folder in (here, other):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        assert {stat.S_IMODE(one.stat().st_mode) for one in folder.iterdir()} == {0o600}
    assert shake_hands(here, other) and shake_hands(other, here)
    root = x509.load_pem_x509_certificate((here / "authority.pem").read_bytes())
    assert root.extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    machine = x509.load_pem_x509_certificate((other / "machine.pem").read_bytes())
    assert not machine.extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    assert machine.not_valid_after_utc < datetime.now(UTC) + timedelta(days=91)


def shake_hands(client: Path, server: Path) -> bool:
    """Whether two machines let each other in."""
    pipes = [(ssl.MemoryBIO(), ssl.MemoryBIO())]
    sides = []
    for folder, purpose in ((client, ssl.Purpose.SERVER_AUTH), (server, ssl.Purpose.CLIENT_AUTH)):
        context = ssl.create_default_context(purpose, cafile=str(folder / "authority.pem"))
        context.check_hostname, context.verify_mode = False, ssl.CERT_REQUIRED
        context.load_cert_chain(folder / "machine.pem", folder / "machine.key")
        sides.append(context)
    (to, fro) = pipes[0]
    ends = [sides[0].wrap_bio(fro, to), sides[1].wrap_bio(to, fro, server_side=True)]
    for _ in range(5):
        for end in ends:
            try:
                end.do_handshake()
            except ssl.SSLWantReadError:
                continue
            except ssl.SSLError:
                return False
    return True


def test_machines_of_different_clusters_refuse_each_other(tmp_path: Path) -> None:
    for name in ("a", "b"):
        assert worker(tmp_path / name, "--init").exit_code == 0
    assert not shake_hands(tmp_path / "a/cluster", tmp_path / "b/cluster")


def test_a_second_init_renews_the_certificate_and_keeps_the_authority(tmp_path: Path) -> None:
    worker(tmp_path, "--init")
    before = {one.name: one.read_bytes() for one in (tmp_path / "cluster").iterdir()}
    assert "The authority" in worker(tmp_path, "--init").stdout
    after = {one.name: one.read_bytes() for one in (tmp_path / "cluster").iterdir()}
    changed = {name for name in before if before[name] != after[name]}
    assert changed == {"machine.pem", "machine.key"}


def test_what_would_overwrite_something_is_refused(tmp_path: Path) -> None:
    home, other = tmp_path / "home", tmp_path / "other"
    refused = worker(home, "--init", "--to", str(other))
    assert isinstance(refused.exception, ConfigError) and "no authority" in refused.exception.message
    worker(home, "--init")
    other.mkdir()
    (other / "thesis.txt").write_text("x")
    assert isinstance(worker(home, "--init", "--to", str(other)).exception, ConfigError)
    theirs = tmp_path / "theirs"
    worker(home, "--init", "--to", str(theirs / "cluster"))
    refused = worker(theirs, "--init")
    assert isinstance(refused.exception, ConfigError) and "of another machine" in refused.exception.message


def test_missing_readable_and_expired_certificates_are_reported(tmp_path: Path) -> None:
    folder = tmp_path / "cluster"
    with pytest.raises(ConfigError, match="part of no cluster"):
        credentials(folder)
    worker(tmp_path, "--init")
    assert credentials(folder).key.endswith("machine.key")
    (folder / "machine.key").chmod(0o640)
    with pytest.raises(ConfigError, match="read by others"):
        credentials(folder)
    (folder / "machine.key").chmod(0o600)
    (folder / "machine.pem").write_text("garbage")
    with pytest.raises(ConfigError, match="not a certificate"):
        credentials(folder)
    from cryptography.hazmat.primitives.asymmetric import ec

    from alita_tui.sandbox.broker.tls import certificate, pem

    (folder / "machine.pem").write_text(
        pem(certificate("m", ec.generate_private_key(ec.SECP256R1()), None, days=0))
    )
    with pytest.raises(ConfigError, match="ended on"):
        credentials(folder)


@pytest.mark.parametrize("name", ["", "authority.pem", "machine.key"])
def test_nothing_starts_with_an_authority_that_others_can_change(tmp_path: Path, name: str) -> None:
    worker(tmp_path, "--init")
    path = tmp_path / "cluster" / name
    path.chmod(path.stat().st_mode | 0o002)
    refused = worker(tmp_path, "--scheduler", "127.0.0.1")
    assert (
        isinstance(refused.exception, ConfigError) and "Other users can write to" in refused.exception.message
    )


@pytest.mark.parametrize(
    "text",
    [
        "",
        "tcp://h:1",
        "tls://",
        "tls://h:1/x",
        "tls://me@h:1",
        "tls://h:x",
        "h:1",
        "tls://h:1?x",
        "tls://h:99999",
    ],
)
def test_an_invalid_cluster_address_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="nothing goes without TLS"):
        address(text)


def test_cluster_addresses_are_parsed(tmp_path: Path) -> None:
    assert address("tls://h") == ("h", 8786) and str(address("tls://[::1]:9")) == "tls://[::1]:9"
    assert address("tls://[::1]:9").bind == "tls://[::1]"
    for host in ("0.0.0.0", "::", "", "*", "0:0:0:0:0:0:0:0"):
        with pytest.raises(UsageError, match="not a single address"):
            _ = Address(host, 1).bind


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "Say one of"),
        (("--init", "--scheduler", "h"), "Say one of"),
        (("tls://h:1", "--to", "x"), "--to goes with --init"),
        (("tls://h:1", "--data", "."), "part of no cluster"),
    ],
)
def test_an_incomplete_command_is_refused(tmp_path: Path, words: tuple[str, ...], said: str) -> None:
    refused = worker(tmp_path, *words)
    assert isinstance(refused.exception, UsageError) and said in refused.exception.message


def test_without_dask_the_install_command_is_shown(tmp_path: Path) -> None:
    assert worker(tmp_path, "--init").exit_code == 0
    words = ["--home", str(tmp_path), "worker", "--scheduler", "127.0.0.1"]
    without = f"import sys; sys.modules['distributed'] = sys.modules['dask'] = None; sys.argv = ['alita', *{words!r}]"
    done = subprocess.run(
        [sys.executable, "-c", f"{without}\nfrom alita_tui.__main__ import main\nmain()"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (
        done.returncode == 2
        and "pip install 'alita-tui[dask]'" in done.stderr
        and "Traceback" not in done.stderr
    )
