"""A folder is read without leaving it, and gives away nothing that looks like a secret."""

from __future__ import annotations

import os
from pathlib import Path
from time import monotonic

import pytest

from alita_tui.context.folder import Folder, looks_secret
from alita_tui.spine.errors import UsageError
from tests.context.repositories import git, put

SECRET = (
    ".env", "deploy/.env.production", "prod.env", "server.pem", "ssl/site.key", "id_rsa", "keys/id_ed25519.pub",
    ".ssh/config", ".aws/config", "home/.kube/config", ".netrc", ".npmrc", ".pypirc", ".git-credentials",
    "credentials.json", "aws_credentials", "CREDENTIALS.md", "passwords.txt", "my-secrets.yaml", "secrets/db.yaml",
    "api_key.txt", "api-keys.md", "terraform.tfstate", "prod.tfvars", "vault.kdbx", "service-account-7.json",
    "client_secret_1.json", "token.txt", "PrivateKey.txt", "app.keystore", "backup.gpg",
)  # fmt: skip
PLAIN = (
    "README.md", "src/app.py", "docs/tokenizer.md", "secrets.py", "src/token.go", "environment.md", "keyboard.md",
    "envelope.txt", "monkey.csv", "docs/keys-and-locks.md",
)  # fmt: skip


def soon() -> float:
    return monotonic() + 20


@pytest.mark.parametrize("name", SECRET)
def test_secret_looking_files_are_neither_listed_nor_read(tmp_path: Path, name: str) -> None:
    put(tmp_path, name)
    put(tmp_path, "plain.txt")
    assert looks_secret(name)
    folder = Folder(tmp_path)
    assert name not in folder.names(soon()) and folder.read(name, 100) == b""
    assert folder.read("plain.txt", 100) == b"x\n"


@pytest.mark.parametrize("name", PLAIN)
def test_ordinary_files_are_listed_and_read(tmp_path: Path, name: str) -> None:
    put(tmp_path, name)
    assert Folder(tmp_path).names(soon()) == [name] and Folder(tmp_path).read(name, 100) == b"x\n"


def test_git_s_own_files_are_not_read(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    assert Folder(tmp_path).names(soon()) == [] and Folder(tmp_path).read(".git/config", 100) == b""


def test_git_decides_which_files_belong(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    put(tmp_path, ".gitignore", "build/\n*.log\n")
    for name in ("kept.py", "new.py", "build/made.py", "noise.log", ".env", "sub/deep.py"):
        put(tmp_path, name)
    git(tmp_path, "add", "kept.py", ".gitignore", "-f", ".env")
    assert Folder(tmp_path).names(soon()) == [".gitignore", "kept.py", "new.py", "sub/deep.py"]
    assert Folder(tmp_path / "sub").names(soon()) == ["deep.py"]


def test_a_repository_starts_no_program(tmp_path: Path) -> None:
    """`core.fsmonitor` names a program that Git runs when it looks at the files."""
    git(tmp_path, "init", "-q")
    put(tmp_path, "kept.py")
    git(tmp_path, "add", "kept.py")
    ran = tmp_path / "ran"
    program = tmp_path / "evil.sh"
    program.write_text(f"#!/bin/sh\ntouch {ran}\n")
    program.chmod(0o755)
    git(tmp_path, "config", "core.fsmonitor", str(program))
    assert "kept.py" in Folder(tmp_path).names(soon())
    assert not ran.exists()


def test_a_failing_git_is_reported_and_nothing_is_guessed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(tmp_path, ".git/HEAD", "nonsense\n")
    put(tmp_path, "ignored.txt")
    with pytest.raises(UsageError, match="git could not list"):
        Folder(tmp_path).names(soon())
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(UsageError, match="cannot be run"):
        Folder(tmp_path).names(soon())


def test_no_link_is_followed(tmp_path: Path) -> None:
    put(tmp_path, "outside/private.txt", "private\n")
    inside = tmp_path / "inside"
    put(inside, "plain.txt")
    (inside / "file.txt").symlink_to(tmp_path / "outside/private.txt")
    (inside / "folder").symlink_to(tmp_path / "outside")
    (inside / "loop").symlink_to(inside)
    folder = Folder(inside)
    assert folder.names(soon()) == ["plain.txt"]
    for name in (
        "file.txt",
        "folder/private.txt",
        "../outside/private.txt",
        "/etc/hostname",
        "loop/plain.txt",
    ):
        assert folder.read(name, 100) == b"", name
    git(inside, "init", "-q")
    git(inside, "add", ".")
    assert not any("private" in Folder(inside).text(name, 100) for name in Folder(inside).names(soon()))


def test_only_regular_files_are_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.txt")
    folder = Folder(tmp_path)
    assert folder.names(soon()) == [] and folder.read("pipe.txt", 100) == b""
    assert folder.text("missing.txt", 100) == "" and folder.stamp("missing.txt") == (0, 0)


def test_text_ends_with_a_whole_line_and_bytes_are_no_text(tmp_path: Path) -> None:
    (tmp_path / "long.txt").write_text("key = sk-abcdef\n" * 100)
    assert Folder(tmp_path).text("long.txt", 40) == "key = sk-abcdef\n" * 2
    (tmp_path / "one-line.txt").write_text("x" * 100)
    assert Folder(tmp_path).text("one-line.txt", 40) == ""
    (tmp_path / "picture.txt").write_bytes(b"\x89PNG\0\0")
    assert Folder(tmp_path).text("picture.txt", 40) == ""


def test_a_missing_folder_is_reported(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is not a readable folder"):
        Folder(tmp_path / "gone")


def test_a_walk_ends_in_time(tmp_path: Path) -> None:
    put(tmp_path, "a/b.txt")
    assert Folder(tmp_path).names(monotonic() - 1) == []
