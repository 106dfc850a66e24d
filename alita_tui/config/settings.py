"""Every setting with its type, default and meaning. The text under a setting is what `alita config` shows."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from alita_tui.spine.values import Value

Seconds = Annotated[float, Meta(gt=0, le=86_400)]
Dollars = Annotated[float, Meta(ge=0, le=1_000_000)]
Count = Annotated[int, Meta(ge=0, le=1_000_000_000)]
Positive = Annotated[int, Meta(ge=1, le=1_000_000_000)]


class ModelSettings(Value, frozen=True):
    """Which language model works."""

    provider: str = ""
    """Provider or preset, such as `anthropic`, `openai` or `ollama`; empty: not configured."""
    name: str = ""
    """The model's name as its provider spells it."""
    base_url: str = ""
    """Address of a compatible server; empty: the provider's own."""
    timeout: Seconds = 120.0
    """Longest silence in seconds while a reply streams."""


class KnownSettings(Value, frozen=True):
    """More models, each written as `provider:name; option=value`."""

    known: tuple[str, ...] = ()
    """Models with their options: base_url, key, tools, context, max_usd, vision, needs, input_usd, output_usd."""
    cache: bool = False
    """Whether the orchestrator, too, is answered from the cache where the very same was asked before."""


class RoleSettings(Value, frozen=True):
    """Which models do which work, in order: the next one is asked where one cannot answer."""

    orchestrator: tuple[str, ...] = ()
    """Thinks and acts; empty: the model of `model.provider` and `model.name`."""
    planner: tuple[str, ...] = ()
    """Proposes plans; empty: as the orchestrator."""
    toolsmith: tuple[str, ...] = ()
    """Writes tools; empty: as the orchestrator."""
    reviewer: tuple[str, ...] = ()
    """Looks over what others wrote; empty: as the orchestrator."""
    summariser: tuple[str, ...] = ()
    """Shortens long conversations; empty: as the orchestrator."""


class BudgetSettings(Value, frozen=True):
    """What a task may cost. Reserved before each call, so a cap is never overrun."""

    task_usd: Dollars = 2.0
    """Cap of one task in US dollars; 0: none."""
    session_usd: Dollars = 10.0
    """Cap of one session in US dollars, kept across resume; 0: none."""
    day_usd: Dollars = 25.0
    """Cap of one day over all sessions in US dollars; 0: none."""
    build_usd: Dollars = 0.0
    """Cap of one build in US dollars, over its drafts, repairs and hidden tests; 0: only the task's caps."""
    unknown_usd: Dollars = 10.0
    """US dollars that a million tokens of a model without a known price are taken to cost; 0: nothing."""
    task_tokens: Count = 1_000_000
    """Cap of one task in tokens, for models without a known price too; 0: none."""
    session_tokens: Count = 0
    """Cap of one session in tokens; 0: none."""
    day_tokens: Count = 0
    """Cap of one day over all sessions in tokens; 0: none."""
    reply_tokens: Positive = 8192
    """Longest single reply in tokens."""
    max_steps: Positive = 30
    """Steps (thought, action, observation) of one task."""
    max_repairs: Count = 4
    """How often one build is repaired before it is given up."""


class SandboxSettings(Value, frozen=True):
    """Where generated code runs, and its limits."""

    image: str = "docker.io/library/python:3.12-slim"
    """Base image that is pulled where a registry answers."""
    image_tar: str = ""
    """Root file system as a tar file, imported instead of pulling."""
    pull: bool = True
    """Whether a registry may be asked at all."""
    wall_seconds: Seconds = 20.0
    """Longest run of a tool, by the clock."""
    memory_mb: Annotated[int, Meta(ge=32, le=1_048_576)] = 512
    """Memory of one run in mebibytes."""
    profile: Literal["draft", "gvisor"] = "draft"
    """How tools are confined: `draft`, or `gvisor`: the same on a kernel of their own, where runsc is installed."""
    account: str = "alita-sandbox"
    """Unprivileged account that runs Podman when alita runs as root."""
    socket: str = ""
    """Podman's API socket; empty: alita starts the service."""
    engines: tuple[str, ...] = ("local",)
    """Where containers run: `local`, `ssh://USER@HOST[:PORT][/PATH/OF/PODMAN.SOCK]`; the least loaded is taken."""
    ssh_config: str = ""
    """File for ssh instead of your own configuration; empty: your own."""
    pool_hot: Annotated[int, Meta(ge=0, le=16)] = 1
    """Containers that wait with the last tool's imports done, for each environment."""
    pool_warm: Annotated[int, Meta(ge=0, le=16)] = 1
    """Containers that wait with nothing imported, for each environment."""
    pool_environments: Annotated[int, Meta(ge=1, le=16)] = 3
    """Environments that containers wait for at a time."""
    session_calls: bool = True
    """Whether the calls of an approved tool in a session may share a container, each under its own user id."""
    environments_mb: Annotated[int, Meta(ge=256, le=1_048_576)] = 4096
    """Room on disk for installed requirements; those unused for longest go first."""
    environment_mb: Annotated[int, Meta(ge=16, le=1_048_576)] = 1024
    """Room for the requirements of one tool, downloaded and unpacked."""
    workspace: str = ""
    """Folder whose files a tool may be granted; empty: `workspace` in the data folder."""
    allowed_private: tuple[str, ...] = ()
    """Private hosts that a tool may be granted, as `host`, `host:port` or network (`10.0.0.0/8`)."""


class WebSettings(Value, frozen=True):
    """Searching and reading. Keys are never settings: they are named here and kept elsewhere."""

    provider: str = "web"
    """Search provider that is asked by default: `web`, `github` or `pypi`."""
    duckduckgo_url: str = "https://html.duckduckgo.com/html/"
    """Keyless web search."""
    google_url: str = "https://www.googleapis.com/customsearch/v1"
    """Google Programmable Search, used for `web` when its key and `google_cx` are there."""
    google_key_name: str = "GOOGLE_API_KEY"
    """Name under which the key of Google Programmable Search is kept."""
    google_cx: str = ""
    """Identifier of the programmable search engine."""
    github_url: str = "https://api.github.com"
    """GitHub's REST API."""
    github_token_name: str = "GITHUB_TOKEN"  # noqa: S105 - a name, not a token
    """Name under which an optional GitHub token is kept."""
    pypi_url: str = "https://pypi.org"
    """The Python package index."""
    osv_url: str = "https://api.osv.dev"
    """Database of known faults in packages, in OSV's format (a mirror will do)."""
    allowed_private: tuple[str, ...] = ()
    """Private hosts that may be read, as `host`, `host:port` or network (`10.0.0.0/8`)."""
    timeout: Seconds = 20.0
    """Seconds for one request, redirects included."""
    max_bytes: Annotated[int, Meta(ge=1024, le=100_000_000)] = 2_000_000
    """Bytes that are read of one page."""


class ConsoleSettings(Value, frozen=True):
    """How the console looks and behaves."""

    theme: str = ""
    """Theme on a dark background; empty: the built-in one."""
    theme_light: str = ""
    """Theme on a light background; empty: the built-in one."""
    mouse: bool = True
    """Whether the mouse is used; without it the terminal selects text itself."""
    bell: bool = True
    """Whether a build that waits rings, notifies and sets the title while the terminal is in the background."""
    reduced_motion: bool = False
    """No spinners and no animations."""


class PrivacySettings(Value, frozen=True):
    """What is never written into a file, beside keys and tokens, which never are."""

    redact: tuple[Annotated[str, Meta(min_length=4)], ...] = ()
    """Texts that are kept out of sessions, memory and exports; `$NAME` is the value of a variable or of `.env`."""


class Settings(Value, frozen=True):
    """All settings."""

    model: ModelSettings = ModelSettings()
    models: KnownSettings = KnownSettings()
    roles: RoleSettings = RoleSettings()
    budget: BudgetSettings = BudgetSettings()
    sandbox: SandboxSettings = SandboxSettings()
    web: WebSettings = WebSettings()
    console: ConsoleSettings = ConsoleSettings()
    privacy: PrivacySettings = PrivacySettings()

    @property
    def configured(self) -> bool:
        """True when a model is named; else the demo is offered."""
        return bool(self.model.provider or self.roles.orchestrator)
