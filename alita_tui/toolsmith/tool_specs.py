"""The prompts of the toolsmith's models and the forms that they submit, from `prompts/` and the sandbox's tables."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

import msgspec

from alita_tui.events import ready
from alita_tui.runtimes.languages import runtime_of
from alita_tui.runtimes.python.form import PYTHON
from alita_tui.spine.grants import BROWSER, offered
from alita_tui.spine.ports.models import ToolSpec
from alita_tui.spine.ports.sandbox import Limits

_LANGUAGES = """# Languages
A tool is written in one of these: {listed}. Take the one that does the job best, say why in `language_reason`, and
where nothing speaks for another one take the first. What is said above of `run`, its docstring and its annotations is
Python's; schemas, files, grants and the tests, which are Python always, are the same for each.{apart}
"""
_NO_PYTHON = " The person allows no tools\nin Python: of the examples take the form and the tests."


_BROWSER = f"""# A browser
A tool that needs what a page's scripts show declares `capabilities.browser` and the page's hosts in `network`, and
requires `playwright`. `sync_playwright()` starts it: `chromium.launch(executable_path=os.environ["{BROWSER}"])`.
Everything the page loads comes from the granted hosts or is refused. With it go hosts and secrets only. Tests serve
pages of their own with `http.server` on 127.0.0.1, in a thread of the test; `hosts` is of no use for them.
"""


@cache
def tool_spec(name: str, languages: tuple[str, ...] = ("python",), *, browser: bool = False) -> ToolSpec:
    """Return a form by name; with several languages, a tool's form also asks for its language and the reason.

    `browser`: whether a tool may ask for a browser.
    """
    raw = files("alita_tui.toolsmith.prompts").joinpath(f"{name}.json").read_bytes()
    spec = msgspec.json.decode(raw, type=ready(ToolSpec))
    if capabilities_schema := spec.parameters.get("properties", {}).get("capabilities"):
        for field, reached in offered(browser=browser).items():
            capabilities_schema["properties"].setdefault(field, {"type": "boolean"})["description"] = reached
    if name == "submit_tool" and languages != ("python",):
        fields = spec.parameters["properties"]
        fields["language"] = {"type": "string", "enum": list(languages)}
        fields["language_reason"] = {
            "type": "string",
            "description": "why this language does it best, in one sentence",
        }
        spec.parameters["required"] += ["language", "language_reason"]
    return spec


def toolsmith_prompt(
    limits: Limits, languages: tuple[str, ...] = ("python",), *, browser: bool = False
) -> str:
    """Return the toolsmith's prompt, rendered from the tables that the code enforces."""
    text = files("alita_tui.toolsmith.prompts").joinpath("toolsmith.md").read_text("utf-8")
    facts = {
        "python": PYTHON.removeprefix(">=") + " and later",
        "seconds": f"{limits.wall_seconds:g}",
        "memory": str(limits.memory_bytes >> 20),
        "scratch": str(limits.scratch_bytes >> 20),
        "result": str(limits.result_bytes >> 10),
        "grants": "\n".join(f"- `{field}`: {reached}" for field, reached in offered(browser=browser).items()),
    }
    if languages != ("python",):
        text = text.replace("one small Python tool", "one small tool")
    for name, fact in facts.items():
        text = text.replace(f"{{{{{name}}}}}", fact)
    text += f"\n{_BROWSER}" if browser else ""
    if languages == ("python",):
        return text
    listed = ", ".join(runtime_of(name).title for name in languages)
    more = "".join(f"\n{runtime_of(name).prompt.strip()}\n" for name in languages if name != "python")
    apart = "" if "python" in languages else _NO_PYTHON
    return f"{text}\n{_LANGUAGES.format(listed=listed, apart=apart)}{more}"
