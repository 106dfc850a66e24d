"""Where alita keeps its files: XDG folders, or everything under one home."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from alita_tui.events import Value
from alita_tui.spine.errors import StoreError

_APP = "alita"


class Paths(Value, frozen=True):
    """The four base folders; every file below is derived from them. Reading a path creates nothing."""

    data: Path
    """Data that must not be lost: sessions, registry, memory, audit."""
    config: Path
    """Files that the person writes."""
    cache: Path
    """Files that can be made again."""
    runtime: Path
    """Locks and sockets of running processes."""

    @property
    def sessions(self) -> Path:
        """Folder with one file per session."""
        return self.data / "sessions"

    @property
    def runs(self) -> Path:
        """Folder with one session file for each run of a granted tool outside a session."""
        return self.data / "runs"

    @property
    def labels(self) -> Path:
        """Titles, tags and bookmarks of sessions."""
        return self.data / "labels.json"

    @property
    def drafts(self) -> Path:
        """What was typed and not sent."""
        return self.data / "drafts.json"

    @property
    def session_search(self) -> Path:
        """Full-text index of all sessions."""
        return self.cache / "sessions.db"

    @property
    def statistics(self) -> Path:
        """Figures of all sessions' runs and calls, which can be read again from their files."""
        return self.cache / "statistics.rows"

    @property
    def tool_index(self) -> Path:
        """The cached index of a large library."""
        return self.cache / "tools.index"

    @property
    def tool_vectors(self) -> Path:
        """Cached vectors of the library's tools."""
        return self.cache / "tools.vectors"

    @property
    def memory_vectors(self) -> Path:
        """Cached vectors of the remembered items."""
        return self.cache / "memory.vectors"

    @property
    def registry(self) -> Path:
        """Index of all tool versions."""
        return self.data / "registry.json"

    @property
    def memory(self) -> Path:
        """Episodic, semantic and procedural memory."""
        return self.data / "memory.json"

    @property
    def servers(self) -> Path:
        """MCP servers whose tools may be used, with what they listed."""
        return self.data / "servers.json"

    @property
    def skills(self) -> Path:
        """Which skills were added, from where, with which digest."""
        return self.data / "skills.json"

    @property
    def skill_files(self) -> Path:
        """Folder with the files of each added skill, by digest."""
        return self.data / "skills"

    @property
    def spend(self) -> Path:
        """What every session spent on every day."""
        return self.data / "spend.json"

    @property
    def mcp_box(self) -> Path:
        """Folder with the tools as portable files."""
        return self.data / "mcp_box"

    @property
    def audit(self) -> Path:
        """Signed log of every verdict."""
        return self.data / "audit.jsonl"

    @property
    def audit_key_folder(self) -> Path:
        """Folder with the key that signs that log and its second head: apart from the data, in no backup."""
        return self.config / "audit"

    @property
    def mcp_token(self) -> Path:
        """The token that clients of `alita mcp serve --http` have to send."""
        return self.config / "mcp.token"

    @property
    def cluster(self) -> Path:
        """Folder with the certificates of the cluster that this machine is part of."""
        return self.config / "cluster"

    @property
    def backups(self) -> Path:
        """Folder with the backups of library, memory and labels."""
        return self.data / "backups"

    @property
    def desk(self) -> Path:
        """Folder with parked builds and the verdicts left for them."""
        return self.data / "desk"

    @property
    def left_tasks(self) -> Path:
        """Folder with what other processes ask of the queues of open sessions."""
        return self.data / "left-tasks"

    @property
    def background(self) -> Path:
        """What the background works on, and tasks that are repeated."""
        return self.data / "background.json"

    @property
    def background_socket(self) -> Path:
        """Where consoles and commands reach the background; its lock is beside it."""
        return self.data / "background.sock"

    @property
    def background_log(self) -> Path:
        """What a background prints that was started by `alita run --detach`."""
        return self.cache / "background.log"

    @property
    def consoles(self) -> Path:
        """Folder with one locked file for each console that is open."""
        return self.runtime / "consoles"

    @property
    def environments(self) -> Path:
        """Folder with installed requirements, by content address."""
        return self.cache / "environments"

    @property
    def replies(self) -> Path:
        """Replies of models to earlier requests."""
        return self.cache / "replies.json"

    @property
    def pages(self) -> Path:
        """Web pages that were read before."""
        return self.cache / "pages.json"

    @property
    def log(self) -> Path:
        """Log file for bug reports."""
        return self.cache / "alita.log"

    @property
    def config_file(self) -> Path:
        """The settings."""
        return self.config / "config.toml"

    @property
    def preferences(self) -> Path:
        """The person's preferences for every task, in their own words."""
        return self.config / "preferences.md"

    @property
    def policy(self) -> Path:
        """Rules that may approve builds without asking."""
        return self.config / "policy.toml"

    @property
    def env_file(self) -> Path:
        """Keys and settings as KEY=VALUE lines."""
        return self.config / ".env"

    @property
    def keymap(self) -> Path:
        """Remapped keys of the console."""
        return self.config / "keymap.toml"

    @property
    def themes(self) -> Path:
        """Folder with the person's own themes."""
        return self.config / "themes"

    @property
    def roles(self) -> Path:
        """Folder with the person's own roles for agents."""
        return self.config / "roles"

    def prepare(self) -> None:
        """Create the base folders and the data folders, for this user only (0700).

        Existing folders keep their mode. Raises StoreError.
        """
        folders = (self.data, self.config, self.cache, self.runtime)
        for folder in (*folders, self.sessions, self.mcp_box, self.desk, self.left_tasks, self.environments):
            make_private(folder)


def make_private(folder: Path) -> None:
    """Create a folder and its missing parents with mode 0700. Raises StoreError."""
    try:
        if folder.is_dir():
            return
        for missing in reversed([f for f in (folder, *folder.parents) if not f.exists()]):
            missing.mkdir(mode=0o700, exist_ok=True)
        if not folder.is_dir():
            raise NotADirectoryError(20, "it is not a folder")
    except OSError as error:
        raise StoreError(
            f"The folder {folder} cannot be created: {error.strerror}.",
            hint="Check its permissions, or give another place with --home or ALITA_HOME.",
        ) from error


def locate(home: Path | None, environ: Mapping[str, str]) -> Paths:
    """Return the paths under `home` or ALITA_HOME if given, else in the XDG base directories.

    Relative XDG variables are ignored, as the specification (0.8) asks.
    """
    chosen = str(home) if home is not None else environ.get("ALITA_HOME", "")
    if chosen:
        root = Path(chosen).expanduser().absolute()
        return Paths(data=root / "data", config=root, cache=root / "cache", runtime=root / "run")
    from platformdirs import PlatformDirs

    dirs = PlatformDirs(_APP, appauthor=False)
    cache = _xdg(environ, "XDG_CACHE_HOME") or Path(dirs.user_cache_dir)
    return Paths(
        data=_xdg(environ, "XDG_DATA_HOME") or Path(dirs.user_data_dir),
        config=_xdg(environ, "XDG_CONFIG_HOME") or Path(dirs.user_config_dir),
        cache=cache,
        runtime=_xdg(environ, "XDG_RUNTIME_DIR") or cache / "run",
    )


def home_options(paths: Paths) -> tuple[str, ...]:
    """Return the options that lead any shell to these paths; none for those of the XDG base directories."""
    return ("--home", str(paths.config)) if locate(paths.config, {}) == paths else ()


def _xdg(environ: Mapping[str, str], name: str) -> Path | None:
    value = environ.get(name, "")
    return Path(value) / _APP if value.startswith("/") else None


def shipped(kind: Literal["themes", "sessions", "starters", "suites"]) -> Path:
    """Return a folder that ships with alita: inside the package in a wheel, beside it in a checkout."""
    package = Path(__file__).parents[1]
    packed = package / "_shipped" / kind
    return packed if packed.is_dir() else package.parent / kind
