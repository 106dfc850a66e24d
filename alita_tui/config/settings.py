"""Every setting with its type, default and meaning. The text under a setting is what `alita config` shows."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from alita_tui.events import Value
from alita_tui.spine.ports.context import BLOCKS, BlockName
from alita_tui.spine.ports.web import WebSettings

Seconds = Annotated[float, Meta(gt=0, le=86_400)]
Dollars = Annotated[float, Meta(ge=0, le=1_000_000)]
Count = Annotated[int, Meta(ge=0, le=1_000_000_000)]
Positive = Annotated[int, Meta(ge=1, le=1_000_000_000)]


class ModelSettings(Value, frozen=True):
    """The language model that does the work."""

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
    """Also answer the orchestrator from the cache when exactly the same was asked before."""


class RoleSettings(Value, frozen=True):
    """Which models do which work, in order: if one cannot answer, the next one is asked."""

    orchestrator: tuple[str, ...] = ()
    """Thinks and acts; empty: the model of `model.provider` and `model.name`."""
    planner: tuple[str, ...] = ()
    """Proposes plans; empty: as the orchestrator."""
    toolsmith: tuple[str, ...] = ()
    """Writes tools; empty: as the orchestrator."""
    reviewer: tuple[str, ...] = ()
    """Reviews what other models wrote; empty: as the orchestrator."""
    summariser: tuple[str, ...] = ()
    """Summarises long conversations; empty: as the orchestrator."""
    archivist: tuple[str, ...] = ()
    """Proposes facts to remember when a task ends; empty: none are proposed, and no call is made."""
    specialist: tuple[str, ...] = ()
    """Does a part of a task that was handed to it; empty: as the orchestrator. A role's file may name its own."""
    verifier: tuple[str, ...] = ()
    """Checks an answer before it is given; empty: as the orchestrator."""


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
    """Assumed US dollars for a million tokens of a model without a known price; 0: nothing."""
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
    plans: Positive = 3
    """How many ways to do a task of several steps are compared at most, where records can tell them apart; 1: none."""
    max_repairs: Count = 4
    """How often one build is repaired before it is given up."""


class TaskSettings(Value, frozen=True):
    """How the tasks of a session are done."""

    parallel: Annotated[int, Meta(ge=1, le=16)] = 2
    """How many run side by side; one that waits for you lends its place. 1: strictly one after another."""


class AgentSettings(Value, frozen=True):
    """Whether parts of a task are handed to other agents, and whether answers are checked."""

    director: Literal["auto", "always", "never"] = "auto"
    """Whether the lead may hand parts on: `auto` where a plan has two parts that need nothing of each other."""
    parallel: Annotated[int, Meta(ge=1, le=16)] = 3
    """How many agents one agent has work for it at the same time; others wait."""
    verify: Literal["never", "costly", "always"] = "costly"
    """Whether another model checks an answer before it is given: `costly` from `agents.verify_usd` on."""
    verify_usd: Dollars = 0.5
    """What a task has to have cost in US dollars, by known prices alone, for its answer to be checked."""


Language = Literal["python", "bash", "javascript", "typescript"]


class SandboxSettings(Value, frozen=True):
    """Where generated code runs, and its limits."""

    image: str = "docker.io/library/python:3.12-slim"
    """Base image to pull if a registry answers."""
    image_tar: str = ""
    """Root file system as a tar file, imported instead of pulling."""
    pull: bool = True
    """Whether images may be pulled from a registry."""
    wall_seconds: Seconds = 20.0
    """Time limit of one run, by the clock. Above 20 the checks of drafts have longer, too, up to four times."""
    memory_mb: Annotated[int, Meta(ge=32, le=1_048_576)] = 512
    """Memory limit of one run in mebibytes."""
    profile: Literal["draft", "gvisor"] = "draft"
    """Confinement of tools: `draft`, or `gvisor`: the same with a kernel of its own, if runsc is installed."""
    account: str = "alita-sandbox"
    """Unprivileged account that runs Podman when alita runs as root."""
    socket: str = ""
    """Podman's API socket; empty: alita starts the service."""
    engines: tuple[str, ...] = ("local",)
    """Where containers run: `local`, `ssh://USER@HOST[:PORT][/PATH/OF/PODMAN.SOCK]`; the least loaded is taken."""
    ssh_config: str = ""
    """ssh configuration file to use instead of your own; empty: your own."""
    pool_hot: Annotated[int, Meta(ge=0, le=16)] = 1
    """Ready containers with the last tool's imports done, for each environment."""
    pool_warm: Annotated[int, Meta(ge=0, le=16)] = 1
    """Ready containers with nothing imported, for each environment."""
    pool_environments: Annotated[int, Meta(ge=1, le=16)] = 3
    """How many environments have ready containers."""
    session_calls: bool = True
    """Whether calls of an approved tool in a session may share a container, each under its own user id."""
    environments_mb: Annotated[int, Meta(ge=256, le=1_048_576)] = 4096
    """Disk space for installed requirements; those unused for longest are removed first."""
    environment_mb: Annotated[int, Meta(ge=16, le=1_048_576)] = 1024
    """Disk space for the requirements of one tool, downloaded and unpacked."""
    workspace: str = ""
    """Folder whose files a tool may be granted; empty: `workspace` in the data folder."""
    allowed_private: tuple[str, ...] = ()
    """Private hosts that a tool may be granted, as `host`, `host:port` or network (`10.0.0.0/8`)."""
    languages: tuple[Language, ...] = ("python",)
    """What tools may be written in, the preferred one first; a tool in another language is not run."""
    browser: bool = False
    """Whether tools may be granted a browser; its image is made before the first run with one."""
    browser_image: str = ""
    """Image with Python and Chromium to pull; empty: it is built from the distribution's packages."""
    browser_tar: str = ""
    """Root file system with Python and Chromium as a tar file, imported instead."""


class LibrarySettings(Value, frozen=True):
    """How the tools of the library are found."""

    encoder: str = ""
    """Finds tools and memories by meaning: folder of a static model, or `provider:name` of a server's; empty: none."""
    encoder_seconds: Annotated[float, Meta(gt=0, le=60)] = 2.0
    """Seconds that a search or a recall waits for it at most; then it goes without."""


class ImproveSettings(Value, frozen=True):
    """Proposals to improve tools: builds that wait for your verdict. Nothing of them runs or joins before it."""

    idle: bool = True
    """Whether a proposal is built while the console lies idle."""
    idle_minutes: Annotated[int, Meta(ge=1, le=10_000)] = 15
    """Minutes without a task before it does."""
    per_day: Count = 2
    """How many proposals are built on one day; 0: none, here or by `alita tools improve`."""
    build_usd: Dollars = 0.25
    """Cap of one of these builds in US dollars; 0: as any build."""


class ArtefactSettings(Value, frozen=True):
    """Files that tasks are given and that tools make."""

    file_mb: Positive = 500
    """Largest single file in MB."""


class ContextSettings(Value, frozen=True):
    """What the model is told besides the conversation, in blocks; none of them holds a secret."""

    blocks: tuple[BlockName, ...] = tuple(name for name in BLOCKS if name != "repository")
    """Blocks that are on where a session does not say; also `repository`."""
    repository: str = ""
    """Folder of which `repository` tells tree, README and symbols; empty: where alita was started."""
    documents: str = ""
    """Folder with text, Markdown and PDF, of which `documents` gives passages that bear on a task; empty: none."""
    preferences: str = ""
    """What you want to hold for every task; more of it in `preferences.md` beside the settings."""


class MemorySettings(Value, frozen=True):
    """What is remembered of earlier tasks."""

    project: str = "folder"
    """Whose facts and tasks are recalled besides the shared ones: `folder`: the one alita was started in; or a name."""
    tokens: Positive = 600
    """Longest that what is recalled for a task may be, in tokens."""
    propose_usd: Dollars = 0.05
    """Cap of one session in US dollars for proposing facts (see `roles.archivist`)."""


class McpSettings(Value, frozen=True):
    """The Model Context Protocol: what other programs may call here, and servers whose tools are used here."""

    serve: tuple[str, ...] = ("trusted", "asked")
    """Tools that are served: by state, origin (`starter`), name (`csv_*`) or tag (`#work`); `asked`: by a client."""
    listed: Positive = 30
    """How many tools a client is listed, the most used; it finds the rest by `search_tools`."""
    calls_at_once: Annotated[int, Meta(ge=1, le=64)] = 4
    """How many calls of clients run side by side; others wait."""
    builds_per_day: Count = 5
    """How many tools clients may ask for on one day; each waits for your decision. 0: none."""
    build_usd: Dollars = 1.0
    """Cap of one of these builds in US dollars; 0: as any build."""
    offers: tuple[Literal["recipes", "transcripts", "audit"], ...] = ()
    """What else clients may read: `recipes` as prompts, `transcripts` of sessions, `audit`: what is known of a tool."""
    connect_seconds: Annotated[float, Meta(ge=1, le=600)] = 45.0
    """How long a server whose tools are used may take to start and answer."""
    call_seconds: Annotated[float, Meta(ge=1, le=3600)] = 120.0
    """How long one call of such a tool may take."""
    idle_minutes: Annotated[float, Meta(ge=0.1, le=1440)] = 10.0
    """How long such a server is kept when nothing calls it; the next call starts it again."""


class ConsoleSettings(Value, frozen=True):
    """How the console looks and behaves."""

    theme: str = ""
    """Theme on a dark background; empty: the built-in one."""
    theme_light: str = ""
    """Theme on a light background; empty: the built-in one."""
    mouse: bool = True
    """Whether the mouse is used; without it the terminal selects text itself."""
    bell: bool = True
    """Ring, notify and set the title when a build waits while the terminal is in the background."""
    reduced_motion: bool = False
    """No spinners and no animations."""
    detail: Literal["answer", "steps", "everything"] = "steps"
    """How much the trace shows: answers, the steps of a running task as well, or every row."""


class PrivacySettings(Value, frozen=True):
    """What is never written to a file, besides keys and tokens, which never are."""

    redact: tuple[Annotated[str, Meta(min_length=4)], ...] = ()
    """Texts to keep out of sessions, memory and exports; `$NAME` is the value of a variable or of `.env`."""


class Settings(Value, frozen=True):
    """All settings."""

    model: ModelSettings = ModelSettings()
    models: KnownSettings = KnownSettings()
    roles: RoleSettings = RoleSettings()
    budget: BudgetSettings = BudgetSettings()
    tasks: TaskSettings = TaskSettings()
    agents: AgentSettings = AgentSettings()
    sandbox: SandboxSettings = SandboxSettings()
    web: WebSettings = WebSettings()
    library: LibrarySettings = LibrarySettings()
    improve: ImproveSettings = ImproveSettings()
    artefacts: ArtefactSettings = ArtefactSettings()
    context: ContextSettings = ContextSettings()
    memory: MemorySettings = MemorySettings()
    mcp: McpSettings = McpSettings()
    console: ConsoleSettings = ConsoleSettings()
    privacy: PrivacySettings = PrivacySettings()

    @property
    def configured(self) -> bool:
        """True if a model is configured; otherwise the demo is offered."""
        return bool(self.model.provider or self.roles.orchestrator)
