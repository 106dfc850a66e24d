"""The judge of a draft: tests run in one process, the tool in another, and every call between them passes the judge.

It is forked by the warden, keeps the warden's user id and capabilities, and imports only this archive and the standard
library. Messages of the parties are decoded strictly (`messages`, `record`); an invalid message, or a process that ends
during a call, fails the current test. Neither party has a descriptor, a file or memory of the other or of the judge:
they exchange JSON values alone.
"""

from __future__ import annotations

import json
import os
import signal
import time
from typing import Any, NoReturn

from alita_tui.sandbox.warden.child import encode, order, own_traceback
from alita_tui.sandbox.warden.confine import take_over
from alita_tui.sandbox.warden.party import ForkServer, Party, PartyGone, PartyLate, how_ended
from alita_tui.sandbox.warden.record import (
    Broken,
    Failed,
    Record,
    check_ready,
    checked_answer,
    checked_observations,
)

UNLIMITED_SECONDS = 1e6
IMPORT_SECONDS = 8.0
"""Time that the import of a tool's packages may take beyond the time of its tests."""
LARGEST_RESULT = 200_000


def judge(pipes: tuple[int, int, int, int], uids: tuple[int, int]) -> NoReturn:
    """Carry out one plan and answer as a job does; never returns. `uids` are those of tool and tests."""
    os.setpgid(0, 0)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    take_over(pipes)
    try:
        fork_server = ForkServer()  # before the draft is received: what it does not know, no party knows
        settings, door, plan = json.loads(order()), json.loads(order()), json.loads(order())
        answer = Trial(fork_server, uids, settings, door, plan).answer()
        fork_server.close()
    except Exception as error:
        answer = {"error": own_traceback(), "exception": type(error).__name__}
    data = memoryview(encode(answer))
    while data:
        data = data[os.write(3, data) :]
    os._exit(0)


class Trial:
    """Carries out one plan: pieces of work on one draft, one after the other."""

    def __init__(
        self,
        fork_server: ForkServer,
        uids: tuple[int, int],
        settings: dict[str, Any],
        door: dict[str, Any],
        plan: dict[str, Any],
    ) -> None:
        self._fork_server = fork_server
        self._uid = {"tool": uids[0], "tests": uids[1]}
        self._common = {"limits": settings["limits"], "environment": settings["environment"]}
        self._door = {name: part for name, part in door.items() if name != "scratch"}
        self._scratch = door.get("scratch", "")
        self._plan = plan

    def answer(self) -> dict[str, Any]:
        """Return a job's answer: the cases of a `test` job, else one entry for each piece there was time for."""
        if self._plan["imports"]:
            self._fork_server.prepare(self._plan["imports"])
        if self._plan["kind"] == "test":
            return self._tests(
                self._plan["pieces"][0], UNLIMITED_SECONDS, time.monotonic() + UNLIMITED_SECONDS
            )
        until = time.monotonic() + self._plan["total"]
        results: list[dict[str, Any]] = []
        for piece in self._plan["pieces"]:
            if time.monotonic() > until:
                break
            if piece["kind"] == "calls":
                results.append(self._calls(piece, until))
            else:
                results.append(self._tests(piece, piece["seconds"], until))
        return {"result": results}

    def _tests(self, piece: dict[str, Any], seconds: float, latest: float) -> dict[str, Any]:
        """Return how each test ended, or an `error` if tool or tests cannot be imported.

        The seconds count from the end of the tool's import, which packages can make slow.
        """
        until = time.monotonic() + seconds
        until = max(until, min(latest, until + IMPORT_SECONDS))
        record = Record(stop=piece["stop"], keep=piece["watch"])
        suite = self._begin("tests", piece)
        tool = self._begin("tool", piece)
        try:
            self._instruct(suite, piece, until)
            self._instruct(tool, piece, until)
            check_ready(tool.receive(until))
            until = time.monotonic() + seconds
            while not record.done:
                message = suite.receive(until)
                if "call" not in message:
                    record.take(message)
                elif not self._pass_on(message, suite, tool, record, until):
                    tool.end()
                    tool = self._begin("tool", piece)
                    self._instruct(tool, piece, until)
                    check_ready(tool.receive(until))
            if piece["watch"]:
                tool.send({"observed": True}, until)
                record.note(checked_observations(tool.receive(until)))
        except Failed as failure:
            return failure.answer
        except PartyLate:
            record.end("there was no time left for it", late=True)
        except (PartyGone, Broken) as error:
            record.end(str(error))
        finally:
            suite.end()
            tool.end()
        return record.answer()

    def _pass_on(
        self, message: dict[str, Any], suite: Party, tool: Party, record: Record, until: float
    ) -> bool:
        """Pass a call of the tests to the tool, and its answer back; return whether its process can be used again."""
        number, positional, keywords = message["call"], message.get("given"), message.get("named")
        if type(number) is not int or not isinstance(positional, list) or not isinstance(keywords, dict):
            raise Broken("the tests' process sent something that is no call of run")
        call = {"call": number, "given": positional, "named": keywords, **_surroundings(message)}
        try:
            tool.send(call, until)
            answer = checked_answer(tool.receive(until), number)
            usable = True
        except (PartyGone, Broken) as error:
            record.fault(f"run() did not answer: {error}")
            answer = {
                "error": "ToolEnded",
                "kinds": ["ToolEnded"],
                "args": [],
                "text": str(error),
                "trace": "",
            }
            usable = False
        record.call(call, answer)
        suite.send(answer, until)
        return usable

    def _calls(self, piece: dict[str, Any], until: float) -> dict[str, Any]:
        """Return the result of `run` for each of these arguments, as far as the time allows."""
        answers: list[dict[str, Any]] = []
        passed: set[int] = set()
        accesses: list[Any] = []
        tool: Party | None = None
        ladders, finished_ladders = piece["ladders"], set[int]()
        try:
            for number, arguments in enumerate(piece["calls"], 1):
                if time.monotonic() > until:
                    break
                if ladders and ladders[number - 1] in finished_ladders:
                    answers.append({"skipped": True, "ms": 0.0})
                    continue
                if tool is None:
                    tool = self._begin("tool", piece)
                    self._instruct(tool, piece, until)
                    check_ready(tool.receive(until))
                answer = _timed_call(
                    tool, {"call": number, "named": arguments, "fresh": piece["fresh"]}, piece
                )
                passed.update(answer.pop("passed", ()))
                accesses += answer.pop("seen", ())
                if ladders:
                    if "result" in answer:
                        text = repr(answer["result"])
                        answer |= {"result": None, "length": len(text), "sum": hash(text)}
                    if "cpu_ms" not in answer or answer["cpu_ms"] >= piece["enough_ms"]:
                        finished_ladders.add(ladders[number - 1])
                answers.append(answer)
                if answer.pop("lost", False):
                    tool.end()
                    tool = None
            if tool is not None and piece["watch"] and not piece["fresh"]:
                tool.send({"observed": True}, until)
                observations = checked_observations(tool.receive(until))
                passed.update(observations["passed"])
                accesses += observations["seen"]
        except Failed as failure:
            return failure.answer
        except (PartyGone, Broken) as error:
            return {"error": str(error), "exception": "ended"}
        except PartyLate:
            pass
        finally:
            if tool is not None:
                tool.end()
        return {"answers": answers, "passed": sorted(passed), "seen": accesses}

    def _begin(self, role: str, piece: dict[str, Any]) -> Party:
        seed = piece["conditions"].get("hash_seed")
        return Party(self._fork_server, role, self._uid[role], show=self._plan["show"], seed=seed)

    def _instruct(self, party: Party, piece: dict[str, Any], until: float) -> None:
        """Send a party its own part of the work, and nothing of the other's."""
        order = {**self._common, "conditions": piece["conditions"]}
        if party.role == "tests":
            order |= {"name": piece["name"], "tests": piece["tests"], "scratch": self._scratch}
        else:
            order |= {"module": piece["module"], "folder": piece["folder"], "code": piece["code"]}
            order |= {"watch": piece["watch"], "door": self._door, "files": piece["files"]}
            order |= {"start": self._plan["start"], "suffix": self._plan["suffix"]}
            order |= {"parameters": self._plan["parameters"]}
        party.send(order, until)


def _timed_call(tool: Party, message: dict[str, Any], piece: dict[str, Any]) -> dict[str, Any]:
    """Return the answer to one call and its time in ms; with `lost` the process cannot be used again."""
    start = time.monotonic()
    until = start + piece["seconds"]
    try:
        tool.send(message, until)
        reply = tool.receive(until)
        if message["fresh"] and "ended" in reply:
            status = reply.get("status")
            answer: dict[str, Any] = {
                "error": "ended",
                "text": how_ended(status if type(status) is int else 0),
            }
        else:
            answer = checked_answer(reply, message["call"])
            if len(repr(answer.get("result"))) > LARGEST_RESULT:
                answer = {"error": "flood", "text": f"its result is longer than {LARGEST_RESULT} characters"}
            if message["fresh"]:
                tool.receive(until)  # the process of this call has ended
    except PartyLate:
        answer = {"error": "timeout", "text": f"no answer after {piece['seconds']:g} s", "lost": True}
    except (PartyGone, Broken) as error:
        answer = {"error": "ended", "text": str(error), "lost": True}
    return {**answer, "ms": (time.monotonic() - start) * 1000}


def _surroundings(message: dict[str, Any]) -> dict[str, Any]:
    """Return the valid part of the environment and folder that the tests set for the tool."""
    valid: dict[str, Any] = {}
    environment, removed, folder = (message.get(name) for name in ("environment", "without", "folder"))
    if isinstance(environment, dict):
        valid["environment"] = {name: text for name, text in environment.items() if isinstance(text, str)}
    if isinstance(removed, list):
        valid["without"] = [name for name in removed if isinstance(name, str)]
    if isinstance(folder, str):
        valid["folder"] = folder
    return valid
