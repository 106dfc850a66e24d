# /// script
# requires-python = ">=3.11"
# dependencies = ["playwright==1.65.2"]
# ///
"""Open a page of a granted host in a browser, do things there, and read what it shows."""

from __future__ import annotations

import json
import os
import re
import urllib.parse

from playwright.sync_api import Error, Page, sync_playwright

_MOST_TEXT = 200_000
_MOST_ROWS = 2_000
_MOST_STEPS = 50
_STEP_MS = 15_000
_MOST_LINES = 2_000
_FIELDS = {
    "open": {"url"},
    "wait": {"on", "text", "seconds"},
    "click": {"on"},
    "fill": {"on", "text", "secret"},
    "press": {"on", "key"},
    "scroll": {"times"},
    "extract": {"what", "on"},
    "screenshot": {"save_as", "on"},
    "pdf": {"save_as"},
    "download": {"on", "save_as"},
}
_TEXT = "(e, most) => e.innerText.slice(0, most)"
_TABLES = """(e, most) => [...(e.matches('table') ? [e] : e.querySelectorAll('table'))].map(table =>
    [...table.rows].slice(0, most).map(row => [...row.cells].map(cell => cell.innerText.trim().slice(0, 2000))))"""
_LINKS = """(e, most) => [...e.querySelectorAll('a[href]')].slice(0, most).map(a =>
    ({text: a.innerText.trim().slice(0, 500), url: a.href.slice(0, 2000)}))"""
_GROWN = "before => document.documentElement.scrollHeight > before"


def run(url: str, steps: list[dict[str, object]] | None = None) -> dict[str, object]:
    """Title, address and status of the page, and in `extracted` what each `extract` read; without one, its text.

    Every step has `do`: open (url, which may be relative), wait (on, text or seconds), click (on), fill (on, and text
    or the name of a secret), press (on, key), scroll (times), extract (what: text, table or links; on), screenshot
    (save_as, on), pdf (save_as), download (on: what is clicked; save_as). `on` is a CSS selector. Pictures, PDFs and
    downloads are left as files, as are the page's console and its requests. Raises ValueError that names the step
    that failed.
    """
    parts = urllib.parse.urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError("url has to be a whole http:// or https:// address")
    todo = [_checked(number, step) for number, step in enumerate(steps or [], 1)]
    if len(todo) > _MOST_STEPS:
        raise ValueError(f"there are more than {_MOST_STEPS} steps")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=os.environ.get("ALITA_BROWSER"))
        saves = any(step["do"] == "download" for step in todo)
        context = browser.new_context(
            accept_downloads=saves, service_workers="block", viewport={"width": 1280, "height": 800}
        )
        context.set_default_timeout(_STEP_MS)
        page = context.new_page()
        context.on("page", lambda other: other.close())  # what the page opens by itself is closed
        log = _Log(page)
        try:
            return _visit(page, url, todo, log)
        finally:
            log.save()


def _visit(page: Page, url: str, todo: list[dict[str, object]], log: _Log) -> dict[str, object]:
    extracted: list[object] = []
    files: list[object] = []
    status: object = 0
    todo = [{"do": "open", "url": url}, *todo]
    if not any(step["do"] == "extract" for step in todo):
        todo.append({"do": "extract"})
    for number, step in enumerate(todo):
        kind = str(step["do"])
        answer = _done(f"step {number} ({kind})" if number else "open", page, log, step)
        if kind == "open":
            status = answer
        elif kind == "extract":
            extracted.append(answer)
        elif answer:
            files.append(answer)
    return {
        "title": _done("title", page, log, {"do": "title"}),
        "url": page.url,
        "status": status,
        "extracted": extracted,
        "files": files,
        "requests": log.requests,
        "refused": log.refused,
        "console": len(log.console),
    }


class _Log:
    """What the page wrote to its console, and what it asked for."""

    def __init__(self, page: Page) -> None:
        self.console: list[dict[str, str]] = []
        self.asked: list[dict[str, object]] = []
        self.requests = 0
        self.refused = 0
        self.crashed = False
        page.on("console", lambda one: self._say(one.type, one.text))
        page.on("pageerror", lambda error: self._say("error", str(error)))
        page.on("response", lambda one: self._ask(one.request.method, one.url, one.status))
        page.on("requestfailed", lambda one: self._ask(one.method, one.url, one.failure or "failed"))
        page.on("crash", lambda _: setattr(self, "crashed", True))

    def save(self) -> None:
        for name, rows in (("console.jsonl", self.console), ("requests.jsonl", self.asked)):
            if rows:
                with open(name, "w", encoding="utf-8") as file:
                    file.writelines(json.dumps(row) + "\n" for row in rows)

    def _say(self, kind: str, text: str) -> None:
        if len(self.console) < _MOST_LINES:
            self.console.append({"type": kind, "text": text[:2000]})

    def _ask(self, method: str, url: str, outcome: int | str) -> None:
        self.requests += 1
        self.refused += not isinstance(outcome, int) or outcome == 403
        if len(self.asked) < _MOST_LINES:
            self.asked.append({"method": method, "url": url[:2000], "outcome": outcome})


def _checked(number: int, step: dict[str, object]) -> dict[str, object]:
    kind = step.get("do")
    if kind not in _FIELDS:
        raise ValueError(f"step {number}: do has to be one of {', '.join(_FIELDS)}")
    if strange := sorted(set(step) - _FIELDS[str(kind)] - {"do"}):
        raise ValueError(f"step {number} ({kind}): there is no {', '.join(strange)}")
    name = step.get("save_as") or "x"
    if not re.fullmatch(r"[\w][\w .()+-]{0,99}", str(name)):
        raise ValueError(f"step {number} ({kind}): {name!r} is no plain file name")
    return step


def _done(where: str, page: Page, log: _Log, step: dict[str, object]) -> object:
    """Do one step. Raise ValueError that names it."""
    try:
        match step["do"]:
            case "open":
                return _open(page, str(step["url"]))
            case "extract":
                return _extract(page, step)
            case "screenshot" | "pdf" | "download":
                return _save(page, step)
            case "title":
                return page.title()[:500]
        return _act(page, step)
    except (Error, ValueError) as error:
        why = "the page crashed" if log.crashed else str(error).split("\nCall log")[0].strip()[:500]
        raise ValueError(f"{where}: {why}") from None


def _open(page: Page, url: str) -> int:
    whole = urllib.parse.urljoin(page.url, url)
    if urllib.parse.urlsplit(whole).scheme not in ("http", "https"):
        raise ValueError("url has to be an http:// or https:// address")
    answer = page.goto(whole, wait_until="load")
    status = answer.status if answer else 0
    if status == 403 and "alita: " in (said := page.content()):  # the broker's own answer
        raise ValueError(re.sub(r"<[^>]*>", "", said[said.index("alita: ") :]).strip()[:300])
    return status


def _act(page: Page, step: dict[str, object]) -> None:
    on = page.locator(str(step.get("on") or "body")).first
    match step["do"]:
        case "wait" if "seconds" in step:
            page.wait_for_timeout(min(float(str(step["seconds"])), 30.0) * 1000)
        case "wait" if "text" in step:
            page.get_by_text(str(step["text"])).first.wait_for()
        case "wait":
            on.wait_for()
        case "click":
            on.click()
        case "fill":
            on.fill(_typed(step))
        case "press":
            on.press(str(step.get("key") or "Enter"))
        case _:
            _scroll(page, int(str(step.get("times") or 1)))


def _typed(step: dict[str, object]) -> str:
    """In alita a stand-in that becomes the secret on its way to the host; elsewhere the secret itself."""
    name = str(step.get("secret") or "")
    if not name:
        return str(step.get("text") or "")
    if name not in os.environ:
        raise ValueError(f"the secret {name} is not granted")
    return os.environ[name]


def _scroll(page: Page, times: int) -> None:
    for _ in range(max(1, min(times, 100))):
        before = page.evaluate("document.documentElement.scrollHeight")
        page.evaluate("scrollTo(0, document.documentElement.scrollHeight)")
        try:
            page.wait_for_function(_GROWN, arg=before, timeout=2_000)
        except Error:
            return


def _extract(page: Page, step: dict[str, object]) -> object:
    what = step.get("what") or "text"
    on = page.locator(str(step.get("on") or "body")).first
    if what not in ("text", "table", "links"):
        raise ValueError("what has to be text, table or links")
    if what == "text":
        return on.evaluate(_TEXT, _MOST_TEXT)
    return on.evaluate(_TABLES if what == "table" else _LINKS, _MOST_ROWS)


def _save(page: Page, step: dict[str, object]) -> str:
    kind = step["do"]
    usual = {"screenshot": "page.png", "pdf": "page.pdf"}.get(str(kind), "download")
    name = str(step.get("save_as") or usual)
    if kind == "pdf":
        page.pdf(path=name, print_background=True)
    elif kind == "screenshot" and step.get("on"):
        page.locator(str(step["on"])).first.screenshot(path=name)
    elif kind == "screenshot":
        page.screenshot(path=name, full_page=False)
    else:
        with page.expect_download() as coming:
            page.locator(str(step.get("on") or "body")).first.click()
        coming.value.save_as(name)
    return name


if __name__ == "__main__":
    import json
    import sys

    print(json.dumps(run(**json.load(sys.stdin))))
