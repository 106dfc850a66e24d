"""Opens the encoder of `library.encoder` and asks it, within a time limit, for vectors that search or recall lack."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, TypeVar

from alita_tui.app.forbidden import forbidden
from alita_tui.app.identity import new_id, now
from alita_tui.events import Check, MemoryItem, NoticeRaised, Usage
from alita_tui.spine.bus import Bus
from alita_tui.spine.errors import AlitaError, BudgetExceeded, ConfigError, ModelError
from alita_tui.spine.ports.encoder import Encoder
from alita_tui.spine.ports.library import SearchResult

if TYPE_CHECKING:
    from alita_tui.agent.calling import ModelCalls
    from alita_tui.app.context import AppContext
    from alita_tui.config.models import ModelEntry
    from alita_tui.llm.factory import ModelSpec
    from alita_tui.registry.finding import Finder
    from alita_tui.spine.ranking.vectors import Vectors

T = TypeVar("T")
Ask = Callable[[Encoder, Sequence[str]], Awaitable[Sequence[Sequence[float]]]]

_FIRST, _MOST = 16, 128
"""Texts of the first request, and of a later one: the number doubles, so that a slow server makes progress, too."""


def finder(app: AppContext) -> Finder:
    """Return the search over tools, with the vectors of the encoder that is set. Nothing is opened or sent."""
    from alita_tui.registry.finding import Finder

    return Finder(app.paths.tool_index, vectors_in(app, app.paths.tool_vectors))


def vectors_in(app: AppContext, path: Path, background: Sequence[str] = ()) -> Vectors | None:
    """Return the vectors in a file that the configured encoder made; None if none is configured."""
    if not app.loaded.settings.library.encoder.strip():
        return None
    from alita_tui.registry.index_cache import IndexCache

    with suppress(AlitaError):  # opening it later reports the error
        entry = _entry(app)
        local = None if entry else open_encoder(app)  # not for a server, whose name needs no key
        name = f"{entry.full_name} {entry.base_url}".strip() if entry else local.name if local else ""
        if name:
            from alita_tui.spine.ranking.vectors import Vectors

            return Vectors(name, IndexCache(path), background)
    return None


def open_encoder(app: AppContext) -> Encoder | None:
    """Return the encoder that is set, if any; nothing is imported or connected. Raises ConfigError, ModelError."""
    from alita_tui.llm.factory import open_embedding

    if spec := encoder_spec(app):
        return open_embedding(spec)
    if not (folder := app.loaded.settings.library.encoder.strip()):
        return None
    from alita_tui.llm.embedding import StaticModel

    return StaticModel(Path(folder).expanduser())


def encoder_spec(app: AppContext) -> ModelSpec | None:
    """Return how to open the server's model that is set, with its key; the keyring may block. Raises ConfigError."""
    entry = _entry(app)
    return app.model_spec(entry) if entry else None


def _entry(app: AppContext) -> ModelEntry | None:
    """Return the server's model that is set, if it is one. Raises ConfigError."""
    from alita_tui.config.models import known_models, read_entry

    settings = app.loaded.settings
    chosen = settings.library.encoder.strip()
    if not chosen or chosen.startswith(("/", "~", ".")):
        return None
    return read_entry(chosen, "library.encoder", known_models(settings))


async def bring(
    vectors: Vectors, encoder: Encoder, query: str, seconds: float, ask: Ask
) -> tuple[bool, AlitaError | None]:
    """Ask for missing vectors, the query's first, for at most `seconds`.

    Return whether any arrived, and the problem, if any.
    """
    end, arrived, size = monotonic() + seconds, 0, _FIRST
    texts = await asyncio.to_thread(vectors.missing, query)
    problem: AlitaError | None = None
    try:
        async with asyncio.timeout(seconds):
            while arrived < len(texts) and monotonic() < end:
                batch = texts[arrived : arrived + size]
                await asyncio.to_thread(vectors.keep, batch, await ask(encoder, batch))
                arrived, size = arrived + len(batch), min(2 * size, _MOST)
    except TimeoutError:
        if not arrived:
            problem = ModelError("timeout", f"{encoder.name} made no vectors within {seconds:g} seconds.")
    except (ModelError, BudgetExceeded) as error:
        problem = error
    await asyncio.to_thread(vectors.save)
    return arrived > 0, problem


class Encoding:
    """The encoder of one session. A problem with it is reported once; search and recall then work without it."""

    def __init__(self, app: AppContext, bus: Bus, calls: ModelCalls) -> None:
        self._app = app
        self._bus = bus
        self._calls = calls
        self._encoder: Encoder | None = None
        self._reported: set[str] = set()
        self._one_by_one = asyncio.Lock()

    async def for_search(self, query: str) -> bool:
        """Ask for the vectors that a search of the library lacks, and return whether any came."""
        return await self._bring(lambda: self._app.library.finder.vectors, query)

    async def for_recall(self, task: str) -> bool:
        """Ask for the vectors that a recall lacks, and return whether any came."""
        return await self._bring(lambda: self._app.memory.vectors, task)

    async def _bring(self, vectors_of: Callable[[], Vectors | None], query: str) -> bool:
        if not self._app.loaded.settings.library.encoder:
            return False
        async with self._one_by_one:
            try:
                self._encoder = self._encoder or await asyncio.to_thread(open_encoder, self._app)
            except (ConfigError, ModelError) as error:
                await self._tell(error)
                return False
            vectors = vectors_of()
            if self._encoder is None or vectors is None:
                return False
            seconds = self._app.loaded.settings.library.encoder_seconds
            arrived, problem = await bring(vectors, self._encoder, query, seconds, self._calls.encode)
            if problem is not None:
                await self._tell(problem)
            return arrived

    async def _tell(self, error: AlitaError) -> None:
        kind = error.kind if isinstance(error, ModelError) else type(error).__name__
        if kind not in self._reported:
            self._reported.add(kind)
            text = f"Tools and memories are looked for without the encoder: {error.message}"
            await self._bus.emit(NoticeRaised(level="warning", text=text, hint=error.hint))

    async def aclose(self) -> None:
        """Close connections."""
        if self._encoder is not None:
            await self._encoder.aclose()


async def searched(app: AppContext, query: str, limit: int) -> tuple[SearchResult, AlitaError | None]:
    """Search outside of a session as the agent does; return the result, and why the encoder did not help."""
    find = partial(app.library.search, query, limit=limit, without=forbidden(app))
    return await _twice(app, find, lambda: app.library.finder.vectors, query)


async def would_recall(app: AppContext, task: str) -> tuple[tuple[MemoryItem, ...], AlitaError | None]:
    """Return what a task would recall, and why the encoder that is set did not help."""
    return await _twice(app, partial(app.memory.recall, task), lambda: app.memory.vectors, task)


async def _twice(
    app: AppContext, find: Callable[[], T], vectors_of: Callable[[], Vectors | None], query: str
) -> tuple[T, AlitaError | None]:
    """Search, and again if the encoder supplied missing vectors; also return its problem, if any."""
    result = await asyncio.to_thread(find)
    try:
        encoder = await asyncio.to_thread(open_encoder, app)
    except (ConfigError, ModelError) as error:
        return result, error
    vectors = vectors_of()
    if encoder is None or vectors is None:
        return result, None
    try:
        seconds = app.loaded.settings.library.encoder_seconds
        arrived, problem = await bring(
            vectors, encoder, query, seconds, lambda encoding, batch: _paid(app, encoding, batch)
        )
    finally:
        await encoder.aclose()
    return (await asyncio.to_thread(find) if arrived else result), problem


async def _paid(app: AppContext, encoder: Encoder, texts: Sequence[str]) -> Sequence[Sequence[float]]:
    """Return vectors; texts for a server are redacted, and its cost counts toward the day's budget.

    Raises ModelError, BudgetExceeded.
    """
    if not encoder.remote:
        return (await encoder.encode(texts)).vectors
    from alita_tui.agent.tokens import tokens_in

    redactor = await asyncio.to_thread(app.redactor)
    sent = [redactor.text(text) for text in texts]
    most, caps = Usage(input_tokens=sum(map(tokens_in, sent)), reported=False), app.loaded.settings.budget
    book, call_id = await asyncio.to_thread(app.spend_book, "search"), new_id()
    allowed = await asyncio.to_thread(
        book.reserve, call_id, encoder.price(most) or 0.0, most.input_tokens,
        limit_usd=caps.day_usd or None, limit_tokens=caps.day_tokens or None,
    )  # fmt: skip
    if not allowed:
        raise BudgetExceeded("The day's budget is spent.", hint="Raise it: alita config set budget.day_usd N")
    usage = most
    try:
        encoded = await encoder.encode(sent)
        usage = encoded.usage if encoded.usage.reported else most
    except ModelError:
        usage = Usage()
        raise
    finally:
        await asyncio.to_thread(book.settle, call_id, encoder.price(usage) or 0.0, usage.input_tokens)
    return encoded.vectors


async def check_encoder(app: AppContext) -> tuple[Check, ...]:
    """Return the line of `alita doctor`, after one real call; none if no encoder is configured."""
    started = now()
    try:
        if (encoder := await asyncio.to_thread(open_encoder, app)) is None:
            return ()
        try:
            async with asyncio.timeout(10 * app.loaded.settings.library.encoder_seconds):
                encoded = await encoder.encode(["a tool that checks addresses"])
        finally:
            await encoder.aclose()
    except TimeoutError:
        return (Check(name="encoder", state="warning", detail="library.encoder does not answer in time"),)
    except (ConfigError, ModelError) as error:
        detail = f"tools and memories are looked for without it: {error.message}"
        return (Check(name="encoder", state="warning", detail=detail, hint=error.hint),)
    seconds = (now() - started).total_seconds()
    detail = f"{encoder.name.split(' ')[0]}: vectors of {len(encoded.vectors[0])} numbers in {seconds:.1f} s"
    return (Check(name="encoder", state="ok", detail=detail),)
