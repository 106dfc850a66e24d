"""Tests that the toolsmith's model never saw, written from the contract alone in separate model calls.

One sample writes cases, two more answer the same arguments without seeing those answers. The tool is asked what two
of three agree on. After CodeT (Chen et al. 2022, arXiv:2207.10397): agreement between independent samples makes a
generated test credible.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any, NamedTuple

import msgspec

from alita_tui.events import GateName, GateResult, GateRow, Json, ToolDraft, Value
from alita_tui.runtimes.scratch_files import MOST_FILES, carried
from alita_tui.spine.errors import BudgetExceeded, BuildSpent, ModelError
from alita_tui.spine.grants import phrases
from alita_tui.spine.ports.models import Asker, Message, ModelRequest, ToolSpec
from alita_tui.spine.text import one_line
from alita_tui.toolsmith.checks.case import Case, CouldNotRun, brief_json, evidence, failed, passed
from alita_tui.toolsmith.checks.condition_settings import excused
from alita_tui.toolsmith.checks.judge_report import Called, refused
from alita_tui.toolsmith.checks.probes import agree, fits, same
from alita_tui.toolsmith.checks.workbench import Shared, Workbench
from alita_tui.toolsmith.tool_specs import tool_spec

_MOST = 12
_FEWEST = 3
"""Agreed cases below which the check cannot judge."""
_ERROR_KEYS = frozenset({"error", "errors", "problem", "problems", "error_message"})
_SUCCESS_KEYS = frozenset({"ok", "valid", "is_valid", "success"})
"""Result keys by which a contract may report bad input."""


class Expected(Value, frozen=True):
    """What a sample expects for some arguments."""

    arguments: Json
    expect: Json = None
    raises: bool = False
    files: Mapping[str, bytes] = {}
    """Files that the tool finds in its workspace."""


class Ran(NamedTuple):
    """Hidden cases, the model that wrote them, and the tool's answers."""

    cases: tuple[Expected, ...]
    model: str
    called: Called


class HiddenTestsCheck:
    """Cases from a separate model call that two of three samples agree on."""

    name: GateName = "hidden"

    def __init__(self, bench: Workbench, asker: Asker) -> None:
        self._bench = bench
        self._asker = asker
        self._system = files("alita_tui.toolsmith.prompts").joinpath("reviewer.md").read_text("utf-8")
        self._agreed_cases: tuple[str, tuple[Expected, ...], str] = ("", (), "")
        self._runs: Shared[Ran] = Shared()

    async def check(self, case: Case) -> GateResult:
        """Ask the tool the agreed cases. Raises CouldNotRun."""
        if unknowable(case.draft):
            return passed(
                self.name, "none can be written: it takes nothing, and its purpose is the clock or chance"
            )
        cases, model, called = await self.ran(case)
        answers = self._bench.answers(called, len(cases))
        pairs = list(zip(cases, answers, strict=False))
        judged = [(entry, answer) for entry, answer in pairs if not _out_of_reach(entry, answer, case.draft)]
        if len(judged) < min(_FEWEST, len(pairs)):
            raise CouldNotRun("what it asks hosts or a model for is not there in a test")
        cases = (*(entry for entry, _ in judged), *cases[len(pairs) :])
        rows = [_row(entry, answer, case.draft) for entry, answer in judged]
        good = sum(row.tone == "good" for row in rows)
        summary = f"{good} of {len(rows)} cases, written by {model or 'another call'} without seeing the code"
        if good < len(rows):
            return failed(self.name, summary, rows, (good, len(rows)))
        if len(rows) < len(cases):
            raise CouldNotRun(f"there was time for {len(rows)} of {len(cases)} cases", rows)
        return passed(self.name, summary, rows, (good, len(rows)))

    async def ran(self, case: Case) -> Ran:
        """Return the cases with the tool's answers, asked for and run once for all checks. Raises CouldNotRun."""
        return await self._runs.get(case, lambda: self._run(case))

    async def _run(self, case: Case) -> Ran:
        if unknowable(case.draft):
            raise CouldNotRun("none can be written")
        about = _contract(case.draft)
        if self._agreed_cases[0] != about:  # a repair with the same contract is tested with the same cases
            try:
                cases, model = await self._agreed(about, case)
            except ModelError as error:
                raise CouldNotRun(f"no separate call wrote tests: {error.message}") from error
            except BuildSpent as error:
                raise CouldNotRun(error.message) from error
            except BudgetExceeded as error:
                raise CouldNotRun(
                    f"the budget has no room for tests by a separate call: {error.message}"
                ) from error
            self._agreed_cases = (about, cases, model)
        _, cases, model = self._agreed_cases
        if len(cases) < _FEWEST:
            raise CouldNotRun(f"two of three samples agreed on {len(cases)} cases only; {_FEWEST} are needed")
        return Ran(cases, model, await self._called(case, cases))

    async def _called(self, case: Case, cases: Sequence[Expected]) -> Called:
        """Return the answers in the order of the cases; cases with the same files share a container."""
        groups: dict[tuple[tuple[str, bytes], ...], list[int]] = {}
        for n, entry in enumerate(cases):
            groups.setdefault(tuple(sorted(entry.files.items())), []).append(n)

        async def ask(files: tuple[tuple[str, bytes], ...], numbers: list[int]) -> Called:
            return await self._bench.watched_calls(case, [cases[n].arguments for n in numbers], dict(files))

        parts = await asyncio.gather(*(ask(files, numbers) for files, numbers in groups.items()))
        answers: dict[int, dict[str, Any]] = {}
        for numbers, called in zip(groups.values(), parts, strict=True):
            if called.error:
                return called
            answers |= zip(numbers, called.answers, strict=False)
        in_order = [answers[n] for n in itertools.takewhile(answers.__contains__, range(len(cases)))]
        passed_places = sorted({place for called in parts for place in called.passed})
        return Called(
            answers=in_order,
            passed=passed_places,
            seen=[observed for called in parts for observed in called.seen],
        )

    async def _agreed(self, about: str, case: Case) -> tuple[tuple[Expected, ...], str]:
        """Return the cases that two of three samples agree on, and the model that wrote them."""
        replies, model = await self._ask(about + "\n\nWrite cases.", tool_spec("submit_cases"), case.build_id)
        first = await asyncio.to_thread(_usable, replies, case.draft)
        if len(first) < _FEWEST:
            rows = _untestable(replies, case.draft) if case.draft.capabilities.none else []
            raise CouldNotRun("the separate call wrote no usable cases", rows)
        questions = "\n".join(f"{n}. {_question(expected)}" for n, expected in enumerate(first, 1))
        samples = []
        for sample in (2, 3):
            text = f"{about}\n\nSample {sample}. What has run to return for each of these arguments?\n{questions}"
            answers, _ = await self._ask(text, tool_spec("submit_answers"), case.build_id)
            samples.append(_entries(answers, "answers"))
        settled = (
            _settle(expected, [sample_answers[n] for sample_answers in samples if n < len(sample_answers)])
            for n, expected in enumerate(first)
        )
        return tuple(expected for expected in settled if expected is not None), model

    async def _ask(self, text: str, spec: ToolSpec, build: str) -> tuple[Json, str]:
        reply = await self._asker.ask(
            ModelRequest(
                role="reviewer",
                system=self._system,
                messages=(Message(role="user", text=text),),
                tools=(spec,),
                must_call=spec.name,
                max_tokens=6000,
                build=build,
            )
        )
        submitted = next(
            (request for request in reply.requests if request.name == spec.name and not request.problem), None
        )
        if submitted is None:
            raise CouldNotRun("the separate call handed nothing in")
        return submitted.arguments, reply.model


def unknowable(draft: ToolDraft) -> bool:
    """Return True if the contract cannot determine results: no argument, and a purpose about clock or chance."""
    takes = draft.input_schema.get("properties") if isinstance(draft.input_schema, dict) else None
    purpose = f"{draft.name.replace('_', ' ')}: {draft.description}"
    return takes == {} and any(excused(cause, purpose) for cause in ("clock", "chance"))


def _usable(submitted: Json, draft: ToolDraft) -> list[Expected]:
    usable: list[Expected] = []
    for entry in _entries(submitted, "cases")[:_MOST]:
        arguments, raises = entry.get("arguments"), entry.get("raises") is True
        files = carried(entry.get("files"))
        if not isinstance(arguments, dict) or not ("expect" in entry or raises) or files is None:
            continue
        if not raises and not fits(arguments, draft.input_schema):
            continue
        if not raises and not files and draft.capabilities.workspace == "read":
            continue  # what it reads would not be there
        usable.append(Expected(arguments=arguments, expect=entry.get("expect"), raises=raises, files=files))
    return usable


def _untestable(submitted: Json, draft: ToolDraft) -> list[GateRow]:
    """Return why a contract gave too few cases: arguments that its schema refuses, or none written at all."""
    written = [
        entry.get("arguments")
        for entry in _entries(submitted, "cases")[:_MOST]
        if "expect" in entry and entry.get("raises") is not True
    ]
    rows = [
        evidence(
            f"run({brief_json(one, 80)})", "a result is expected, but the input schema refuses it", "bad"
        )
        for one in written
        if isinstance(one, dict) and not fits(one, draft.input_schema)
    ]
    text = "too few tests can be written from the purpose and the arguments that the schema allows"
    return rows or [evidence("contract", text, "bad")]


def _contract(draft: ToolDraft) -> str:
    text = (
        f"CONTRACT of the tool {draft.name}\nPurpose: {draft.description}\n"
        f"Arguments of run: {msgspec.json.encode(draft.input_schema).decode()}\n"
        f"Returns: {msgspec.json.encode(draft.output_schema).decode()}"
    )
    capabilities = draft.capabilities
    if not capabilities.none:
        text += f"\nIt asks for: {'; '.join(phrases(capabilities))}."
    if capabilities.workspace != "none":
        text += (
            "\nIn a test its workspace holds the files that the case carries, and no others: `files` maps each name "
            f'to its text, or to {{"base64": ...}}; at most {MOST_FILES}, small ones.'
            " A case that reads a file carries it."
        )
    if capabilities.network or capabilities.model_calls or capabilities.tools:
        text += "\nNo host, model or other tool answers in a test: leave cases out that need one."
    return text


def _question(expected: Expected) -> str:
    """Return arguments and files, verbatim, as the other samples are asked about them."""
    text = msgspec.json.encode(expected.arguments).decode()
    if expected.files:
        listed = {
            name: data.decode("utf-8", "backslashreplace")[:4000] for name, data in expected.files.items()
        }
        text += f" with the files {msgspec.json.encode(listed).decode()}"
    return text


def _out_of_reach(expected: Expected, answer: dict[str, Any], draft: ToolDraft) -> bool:
    """Return True for a failure that may be due to the lack of a host, a model or a tool, which no test has."""
    capabilities = draft.capabilities
    return (
        bool(capabilities.network or capabilities.model_calls or capabilities.tools)
        and "result" not in answer
        and not expected.raises
    )


def _entries(submitted: Json, name: str) -> list[dict[str, Any]]:
    entries = submitted.get(name) if isinstance(submitted, dict) else None
    return (
        [entry if isinstance(entry, dict) else {} for entry in entries] if isinstance(entries, list) else []
    )


def _settle(expected: Expected, answers: Sequence[dict[str, Any]]) -> Expected | None:
    """Return the case as two of three samples expect it; None if no two agree."""
    opinions = [expected] + [
        Expected(
            arguments=expected.arguments,
            expect=answer.get("expect"),
            raises=answer.get("raises") is True,
            files=expected.files,
        )
        for answer in answers
        if answer.get("open") is not True and ("expect" in answer or answer.get("raises") is True)
    ]
    for n, left in enumerate(opinions):
        for right in opinions[n + 1 :]:
            if left.raises and right.raises:
                return left
            if not left.raises and not right.raises:
                common = agree(left.expect, right.expect)
                if common is not None:
                    return msgspec.structs.replace(left, expect=common[0])
    return None


def _row(expected: Expected, answer: dict[str, Any], draft: ToolDraft) -> GateRow:
    with_files = f" with {', '.join(expected.files)}" if expected.files else ""
    label = f"run({brief_json(expected.arguments, 80)}){with_files}"
    expected_text = "an error" if expected.raises else brief_json(expected.expect)
    returned = "result" in answer
    actual_text = (
        brief_json(answer["result"]) if returned else f"{answer.get('error')}: {answer.get('text', '')}"
    )
    if not expected.raises:
        right = returned and same(expected.expect, answer["result"])
    elif returned:
        right = _tells_of_error(answer["result"], draft.output_schema)
    else:
        right = refused(answer, draft) and not _bare_key(answer, expected.arguments)
    text = f"→ {expected_text}" if right else f"→ {actual_text}, where {expected_text} was agreed on"
    if expected.raises and right:
        text = f"→ {actual_text}"
    elif expected.raises and not returned:
        text = f"→ {actual_text}: a crash, where a refusal was agreed on"
    return evidence(label, one_line(text, 300), "good" if right else "bad")


def _bare_key(answer: dict[str, Any], arguments: Json) -> bool:
    """Return True for a failed look-up of an argument, in Python's own words: not a refusal by the tool."""
    candidate = arguments.values() if isinstance(arguments, dict) else ()
    return answer.get("error") == "KeyError" and answer.get("text") in {repr(value) for value in candidate}


def _tells_of_error(result: Json, schema: Json) -> bool:
    """Return True if the output schema has a form for errors and the result has that form."""
    if not isinstance(result, dict) or not isinstance(schema, dict):
        return False
    forms = [
        schema,
        *(form for key in ("anyOf", "oneOf") for form in schema.get(key) or () if isinstance(form, dict)),
    ]
    property_names = {
        name for form in forms if isinstance(form.get("properties"), dict) for name in form["properties"]
    }
    reported = any(result.get(name) for name in _ERROR_KEYS & property_names)
    return reported or any(result.get(name) is False for name in _SUCCESS_KEYS & property_names)
