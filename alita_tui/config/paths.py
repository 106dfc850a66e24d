"""Where alita keeps its files: XDG folders, or everything under one home."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from alita_tui.events import Value
from alita_tui.spine.errors import StoreError

_APP = "alita"
Base = Literal["data", "config", "cache", "runtime"]


class Below:
    """A file or folder with a fixed name in one of the base folders."""

    def __init__(self, base: Base, name: str) -> None:
        self._base = base
        self._name = name

    def __get__(self, paths: Paths, owner: type[Paths]) -> Path:
        """Return its path."""
        folder: Path = getattr(paths, self._base)
        return folder / self._name


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

    sessions = Below("data", "sessions")
    """Folder with one file per session."""
    runs = Below("data", "runs")
    """Folder with one session file for each run of a granted tool outside a session."""
    labels = Below("data", "labels.json")
    """Titles, tags and bookmarks of sessions."""
    drafts = Below("data", "drafts.json")
    """What was typed and not sent."""
    session_search = Below("cache", "sessions.db")
    """Full-text index of all sessions."""
    statistics = Below("cache", "statistics.rows")
    """Figures of all sessions' runs and calls, which can be read again from their files."""
    tool_index = Below("cache", "tools.index")
    """The cached index of a large library."""
    tool_vectors = Below("cache", "tools.vectors")
    """Cached vectors of the library's tools."""
    memory_vectors = Below("cache", "memory.vectors")
    """Cached vectors of the remembered items."""
    registry = Below("data", "registry.json")
    """Index of all tool versions."""
    memory = Below("data", "memory.json")
    """Episodic, semantic and procedural memory."""
    servers = Below("data", "servers.json")
    """MCP servers whose tools may be used, with what they listed."""
    skills = Below("data", "skills.json")
    """Which skills were added, from where, with which digest."""
    skill_files = Below("data", "skills")
    """Folder with the files of each added skill, by digest."""
    spend = Below("data", "spend.json")
    """What every session spent on every day."""
    mcp_box = Below("data", "mcp_box")
    """Folder with the tools as portable files."""
    audit = Below("data", "audit.jsonl")
    """Signed log of every verdict."""
    audit_key_folder = Below("config", "audit")
    """Folder with the key that signs that log and its second head: apart from the data, in no backup."""
    mcp_token = Below("config", "mcp.token")
    """The token that clients of `alita mcp serve --http` have to send."""
    cluster = Below("config", "cluster")
    """Folder with the certificates of the cluster that this machine is part of."""
    backups = Below("data", "backups")
    """Folder with the backups of library, memory and labels."""
    desk = Below("data", "desk")
    """Folder with parked builds and the verdicts left for them."""
    left_tasks = Below("data", "left-tasks")
    """Folder with what other processes ask of the queues of open sessions."""
    background = Below("data", "background.json")
    """What the background works on, and tasks that are repeated."""
    background_socket = Below("data", "background.sock")
    """Where consoles and commands reach the background; its lock is beside it."""
    background_log = Below("cache", "background.log")
    """What a background prints that was started by `alita run --detach`."""
    consoles = Below("runtime", "consoles")
    """Folder with one locked file for each console that is open."""
    environments = Below("cache", "environments")
    """Folder with installed requirements, by content address."""
    replies = Below("cache", "replies.json")
    """Replies of models to earlier requests."""
    pages = Below("cache", "pages.json")
    """Web pages that were read before."""
    log = Below("cache", "alita.log")
    """Log file for bug reports."""
    config_file = Below("config", "config.toml")
    """The settings."""
    preferences = Below("config", "preferences.md")
    """The person's preferences for every task, in their own words."""
    policy = Below("config", "policy.toml")
    """Rules that may approve builds without asking."""
    env_file = Below("config", ".env")
    """Keys and settings as KEY=VALUE lines."""
    keymap = Below("config", "keymap.toml")
    """Remapped keys of the console."""
    themes = Below("config", "themes")
    """Folder with the person's own themes."""
    roles = Below("config", "roles")
    """Folder with the person's own roles for agents."""

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
