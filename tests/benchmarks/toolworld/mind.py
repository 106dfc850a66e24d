"""A scripted mind on a model's wire. It decides from what the prompt says, and from what it knows of the world.

It knows how people ask for things, how to write tools and what they should return. It knows nothing of the library, of
the stream or of earlier calls but what it is shown, and whether it writes a tool well is drawn from the prompt itself.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any

from alita_tui.llm.scripted import ScriptReply, ScriptRequest
from tests.attack.drafts.honest import Recipe
from tests.benchmarks.toolworld import craft
from tests.benchmarks.toolworld.language import RESULT, THEN, Concept, concepts, meant
from tests.benchmarks.toolworld.plans import other_plans
from tests.support.servers.openai_server import OpenAIServer
from tests.support.servers.wire import Fault

_WRONG, _NARROW, _MENDS, _SLIPS = 0.25, 0.15, 0.8, 0.5
"""Shares: first drafts with a slip, and too narrow ones; repairs that mend; reviewers that err in one case."""
_UNKNOWABLE = re.compile(
    r"\bam I thinking\b|\bwill\b.*\b(?:cost|win|rise)\b|\bdid my \w+ (?:dream|eat)\b|\bnobody wrote down\b"
)
_RECIPE = re.compile(r"- \[recipe:\w+\] (?P<task>.*): (?P<calls>\w+\(.*) \(worked \d+ of \d+ times\)")
_CALL = re.compile(r"(?:^|→ )(\w+)\((.*?)\)(?= →|$)")
_BUILDS = 3
"""Builds that are asked for in one task, for one thing."""
UNKNOWN = "I cannot know that"
NONE = "There is no answer"


class Mind(OpenAIServer):
    """Answers every request itself."""

    def __init__(self, seed: int = 1, *, plans: bool = False, wrong: float = _WRONG) -> None:
        """`plans`: whether it writes a plan for a task of several steps, and proposes others when asked.

        `wrong`: share of first drafts with a slip that the draft's own tests share.
        """
        super().__init__()
        self._seed, self._plans, self._wrong = seed, plans, wrong
        self.calls = 0

    def _events(self, fault: Fault, body: Any) -> list[bytes]:
        self.calls += 1
        names = {*self.tool_names(body)}
        if "submit_tool" in names:
            reply = self._write(body["messages"])
        elif names & {"submit_cases", "submit_answers"}:
            reply = self._review(body["messages"][-1]["content"], *names)
        elif "propose_plans" in names:
            reply = _call("propose_plans", plans=other_plans(body["messages"][-1]["content"]))
        else:
            reply = Orchestration(body["messages"], plans=self._plans).reply()
        self.requests.clear()
        return self.stream(reply, body)

    def _chance(self, *about: object) -> float:
        told = "\n".join(map(str, (self._seed, *about)))
        return int.from_bytes(sha256(told.encode()).digest()[:4], "big") / 2**32

    # --- the toolsmith --------------------------------------------------------------------------

    def _write(self, messages: Sequence[Mapping[str, Any]]) -> ScriptReply:
        order = next(str(one["content"]) for one in messages if one["role"] == "user")
        name = _after(order, "Tool name: ")
        concept = _concept_of(_after(order, "Goal: "))
        if concept is None:
            return ScriptReply(text="I do not know how to do that.")
        wanted = re.findall(r"`(\w+)`", _after(order, "Details: "))
        recipe = craft.written(concept, name, wanted, whole="It replaces this version" in order)
        attempt = sum(one["role"] == "assistant" for one in messages)
        mended = any(self._chance(order, "mends", n) < _MENDS for n in range(1, attempt + 1))
        draft = None if mended else self._careless(order, concept, recipe)
        if draft and attempt:  # a model that is sent back changes something, and thinks that was it
            draft = replace(draft, code=f"{draft.code}\n# Mended, {attempt}.\n")
        return _call("submit_tool", **craft.submission(draft or recipe))

    def _careless(self, order: str, concept: Concept, recipe: Recipe) -> Recipe | None:
        luck = self._chance(order, "first")
        if luck < self._wrong:
            return craft.wrong(recipe, concept.slips)
        if luck < self._wrong + _NARROW and (
            instance := _after(order, "Details: ").partition("For instance ")[2]
        ):
            return craft.narrow(recipe, json.loads(instance))
        return None

    # --- the reviewer ---------------------------------------------------------------------------

    def _review(self, text: str, form: str) -> ScriptReply:
        concept = _concept_of(_after(text, "Purpose: "))
        schema = json.loads(_after(text, "Arguments of run: "))
        sample = int(again[1]) if (again := re.search(r"Sample (\d)\.", text)) else 1
        if concept is None:
            return _call(form, **{"cases" if form == "submit_cases" else "answers": []})
        if form == "submit_cases":
            entries = [
                {"arguments": given, **_expected(concept, given)}
                for given in _known(concept)
                if _fits(given, schema["properties"])
            ]
        else:
            asked = [json.loads(line) for line in re.findall(r"(?m)^\d+\. (\{.*\})$", text)]
            entries = [_expected(concept, given) for given in asked]
        if entries and self._chance(text, sample) < _SLIPS:
            place = int(self._chance(text, sample, "where") * len(entries))
            entries[place] = {
                **{key: entries[place][key] for key in ("arguments",) if key in entries[place]},
                "expect": f"slip {sample}",
            }
        return _call(form, **{"cases" if form == "submit_cases" else "answers": entries})


@dataclass
class _Found:
    """A tool as a prompt tells of it."""

    name: str
    description: str
    properties: Mapping[str, Any]
    required: Sequence[str]
    doubted: bool = False


@dataclass
class _Want:
    """One thing that is asked for, and how far it is."""

    concept: Concept
    raw: dict[str, str]
    query: str
    tool: _Found | None = None
    searched: int = 0
    lacks: str = ""
    """What the tool that is there lacks."""
    near: str = ""
    """A description that came near, to search for."""
    builds: int = 0
    result: Any = None
    refused: str = ""
    done: bool = False
    failed: bool = False


class Orchestration:
    """What the orchestrator's prompt leads to."""

    def __init__(self, messages: Sequence[Mapping[str, Any]], *, plans: bool = False) -> None:
        self._to_plan = plans
        self._alternatives: dict[str, tuple[_Want, _Found]] = {}
        """Every tool that was found for something asked for, by name."""
        places = [
            n
            for n, one in enumerate(messages)
            if one["role"] == "user" and str(one["content"]).startswith("TASK")
        ]
        self._task = str(messages[places[-1]]["content"]).partition(": ")[2]
        self._turns = messages[places[-1] + 1 :]
        self._wants = _read(self._task)
        self._remember()
        self._walk()

    def reply(self) -> ScriptReply:
        """Return the next step."""
        if not self._wants or _UNKNOWABLE.search(self._task):
            return _call("answer", text=f"{UNKNOWN}: nothing that I have or could build tells it.")
        for place, want in enumerate(self._wants):
            if not want.done:
                return self._next(place, want)
        last = self._wants[-1]
        if refused := next((one for one in self._wants if one.refused), None):
            return _call("answer", text=f"{NONE}: {refused.refused}.")
        if any(one.failed for one in self._wants):
            return _call("answer", text="I could not get a tool for that.")
        return _call("answer", text=f"The result is {json.dumps(last.result, ensure_ascii=False)}.")

    def _next(self, place: int, want: _Want) -> ScriptReply:
        if want.tool is None and want.searched == 0:
            searches = [one for one in self._wants[place:] if one.tool is None and one.searched == 0]
            return _both(*(_call("find_tool", query=one.query) for one in searches))
        if want.tool is None and want.near and want.searched == 1:
            return _call("find_tool", query=want.near)
        if self._to_plan and len(self._wants) > 1 and all(one.tool and not one.lacks for one in self._wants):
            names = [one.tool.name for one in self._wants if one.tool]
            return _call("plan", steps=[*(f"Run {name}" for name in names), "Answer from what came back"])
        if want.tool is None or want.lacks:
            if want.builds >= _BUILDS:
                want.done = want.failed = True
                return self.reply()
            return self._build(want)
        return self._run(place, want)

    def _build(self, want: _Want) -> ScriptReply:
        concept = want.concept
        name = want.tool.name if want.tool else _name(concept, self._task)
        known = {key: meant(raw, concept.takes[key]) for key, raw in want.raw.items() if raw != RESULT}
        details = f"It takes {', '.join(f'`{key}`' for key in want.raw)}."
        details += f" {want.lacks}" if want.lacks else ""
        details += f" For instance {json.dumps(known, ensure_ascii=False)}"
        return _call("build_tool", name=name, goal=concept.recipe.purpose, details=details)

    def _run(self, place: int, want: _Want) -> ScriptReply:
        tool = want.tool
        assert tool is not None
        arguments: dict[str, Any] = {
            key: {"$ref": f"step{place}"} if raw == RESULT else meant(raw, tool.properties.get(key, {}))
            for key, raw in want.raw.items()
        }
        label = {"label": f"step{place + 1}"} if len(self._wants) > 1 else {}
        one = _call("run_tool", name=tool.name, arguments=arguments, **label)
        follows = self._wants[place + 1 : place + 2]
        if follows and follows[0].tool and not follows[0].lacks and RESULT in follows[0].raw.values():
            return _both(one, self._run(place + 1, follows[0]))
        return one

    # --- reading ------------------------------------------------------------------------------

    def _remember(self) -> None:
        """Take tools from what is remembered, where a task like this was answered with them."""
        told = "\n".join(
            str(one["content"]) for one in self._turns
            if one["role"] == "user" and str(one["content"]).startswith("From earlier tasks")
        )  # fmt: skip
        for line in told.splitlines():
            if not (recipe := _RECIPE.match(line)):
                continue
            tools, parts = _CALL.findall(recipe["calls"]), _read(recipe["task"])
            for want in self._wants:
                for (name, given), part in zip(tools, parts, strict=False):
                    names = re.findall(r"(?:^|, )(\w+)=", given)
                    if part.concept is want.concept and {*want.raw} == {*names}:
                        want.tool = _Found(name, want.concept.recipe.purpose, want.concept.takes, names)

    def _walk(self) -> None:
        calls: dict[str, tuple[str, Any]] = {}
        for turn in self._turns:
            for call in turn.get("tool_calls") or ():
                arguments = json.loads(call["function"]["arguments"])
                calls[call["id"]] = (call["function"]["name"], arguments)
                if call["function"]["name"] == "build_tool":
                    self._about(arguments).builds += 1
            if turn["role"] == "tool":
                action, arguments = calls[turn["tool_call_id"]]
                self._observe(action, arguments, str(turn["content"]))

    def _about(self, arguments: Mapping[str, Any]) -> _Want:
        """Return what a build is for."""
        return next(one for one in self._wants if one.concept.recipe.purpose == arguments["goal"])

    def _observe(self, action: str, arguments: Mapping[str, Any], text: str) -> None:
        if action == "find_tool":
            for want in self._wants:
                if arguments["query"] in (want.query, want.near):
                    self._found(want, text)
        elif action == "build_tool":
            want = self._about(arguments)
            if text.startswith("Nothing is built yet"):
                self._found(want, text)
            elif approved := re.search(r"Approved: (\w+) v|Use run_tool (\w+) to run", text):
                want.tool, want.lacks = _registered(approved[1] or approved[2], want, text), ""
        elif action == "plan":
            self._to_plan = False
            if "Follow it instead" in text:
                self._follow(text)
        elif action == "run_tool":
            label = arguments.get("label", "step1")
            self._ran(self._wants[int(str(label).removeprefix("step")) - 1], text)

    def _follow(self, plan: str) -> None:
        """Take the tools that another plan names, where they are known to do what is asked for."""
        for name in re.findall(r"Run (\w+)", plan):
            if name in self._alternatives:
                want, tool = self._alternatives[name]
                want.tool = tool

    def _found(self, want: _Want, text: str) -> None:
        want.searched += 1
        for one in _hits(text):
            if not craft.same_purpose(one.description, want.concept.recipe.purpose):
                continue
            missing = [name for name in want.raw if name not in one.properties]
            unknown = [
                raw
                for name, raw in want.raw.items()
                if meant(raw, one.properties.get(name, {}))
                not in one.properties.get(name, {}).get("enum", [meant(raw, one.properties.get(name, {}))])
            ]
            want.tool = one
            if not (unknown or missing or one.doubted):
                self._alternatives[one.name] = want, one
            if unknown:
                want.lacks = f"It does not know {', '.join(unknown)} yet."
            elif missing:
                want.lacks = f"It has no parameter for {', '.join(missing)} yet."
            elif one.doubted:
                want.lacks = "Its results were found wrong: look at it closely and repair it."
            else:
                want.lacks = ""
                return
        for description in re.findall(r"(?m)^- \w+ \(score [\d.]+\): (.*)$", text):
            if want.tool is None and craft.same_purpose(description, want.concept.recipe.purpose):
                want.near = description

    def _ran(self, want: _Want, text: str) -> None:
        if text.startswith("status: ok"):
            want.result, want.done = _result(text), True
            return
        said = re.search(r"(\w*Error): (.*)", text)
        known = {key: meant(raw, want.concept.takes[key]) for key, raw in want.raw.items() if raw != RESULT}
        takes = "expect" in _expected(want.concept, known) if len(known) == len(want.raw) else True
        if "is not in the library" in text or "no tool" in text.lower():
            want.tool = None
        elif said and said[1] == "ValueError" and not takes:
            want.refused, want.done = said[2].strip() or "the tool refuses it", True
        elif not takes:
            want.refused, want.done = "no tool can take that", True
        else:
            want.lacks = f"It fails where it should not: {said[0] if said else text[:200]}"


def _read(task: str) -> list[_Want]:
    """Return what a task asks for; nothing where it is not understood."""
    wants: list[_Want] = []
    for part in task.strip().split(THEN):
        found = [
            (len(way.bare), _Want(concept, raw, way.bare))
            for concept in concepts().values()
            for way in (*concept.ways, *concept.more)
            if (raw := way.read(part)) is not None
        ]
        if not found:
            return []
        wants.append(max(found, key=lambda one: one[0])[1])
    return wants


def _concept_of(purpose: str) -> Concept | None:
    return next((one for one in concepts().values() if craft.same_purpose(purpose, one.recipe.purpose)), None)


def _expected(concept: Concept, given: Mapping[str, Any]) -> dict[str, Any]:
    try:
        return {"expect": concept.recipe.run(dict(given))}
    except Exception:  # a contract that this does not fit
        return {"raises": True}


def _known(concept: Concept) -> list[dict[str, Any]]:
    """Return arguments, usual ones and bad ones, that come to mind for a contract."""
    recipes = (concept.recipe, concept.first) if concept.first else (concept.recipe,)
    found = {json.dumps(given): given for one in recipes for given, _, _ in one.reviewed()}
    return list(found.values())


def _fits(given: Mapping[str, Any], properties: Mapping[str, Any]) -> bool:
    return all(
        key in properties and value in properties[key].get("enum", [value]) for key, value in given.items()
    )


def _name(concept: Concept, task: str) -> str:
    """Return a name for a new tool; models do not always choose the same."""
    names = (concept.name, f"compute_{concept.name}", f"{concept.name}_tool")
    return names[sha256(task.encode()).digest()[0] % 3]


def _hits(text: str) -> list[_Found]:
    found: list[_Found] = []
    for block in re.split(r"(?m)^(?=- \w+\()", text):
        head = re.match(r"- (\w+)\(.*\n  v\d+, .*?; score [\d.]+: (.*)", block)
        schema = re.search(r"input schema: (\{.*\})", block)
        if head and schema:
            takes = json.loads(schema[1])
            found.append(
                _Found(
                    head[1],
                    head[2],
                    takes.get("properties", {}),
                    takes.get("required", ()),
                    "not relied on" in block,
                )
            )
    return found


def _registered(name: str, want: _Want, text: str) -> _Found:
    schema = re.search(r"input schema: (\{.*\})", text)
    takes: dict[str, Any] = json.loads(schema[1]) if schema else {"properties": want.concept.takes}
    return _Found(name, want.concept.recipe.purpose, takes["properties"], takes.get("required", ()))


def _result(text: str) -> Any:
    if fenced := re.search(r"result(?: \(e\d+\))?:\n<untrusted[^>]*>\n(.*?)\n</untrusted>", text, re.DOTALL):
        return json.loads(fenced[1])
    plain = re.search(r"result(?: \(e\d+\))?: (\S+)", text)
    return json.loads(plain[1]) if plain else None


def _after(text: str, head: str) -> str:
    """Return the rest of the line that begins so."""
    found = re.search(rf"(?m)^{re.escape(head)}(.*)$", text)
    return found[1] if found else ""


def _call(action: str, **arguments: Any) -> ScriptReply:
    return ScriptReply(requests=(ScriptRequest(name=action, arguments=arguments),))


def _both(*replies: ScriptReply) -> ScriptReply:
    return ScriptReply(requests=tuple(request for reply in replies for request in reply.requests))
