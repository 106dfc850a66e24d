"""Text in a draft that speaks to its reader: to the person who approves, to a reviewing model, to the agent.

A tool's text says what the tool does. What tells a reader how to judge it, or what to do next, is named with its words.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
import unicodedata
from collections.abc import Iterator

from alita_tui.events import Json, ToolDraft
from alita_tui.spine.text import one_line, reveal
from alita_tui.toolsmith.folding import Folding
from alita_tui.toolsmith.persuasion import persuades
from alita_tui.toolsmith.reading import FUNCTIONS, Notes

_READER = (
    r"(?:reviewers?|approvers?|reviewing models?|language models?|assistants?|ai|llms?|graders?"
    r"|judges?|auditors?"
    r"|toolsmith|agents?|models?)"
)
_WORK = r"(?:build|tool|draft|program|script|submission|package)"
_SAID = tuple(
    re.compile(one, re.IGNORECASE)
    for one in (
        # Another voice than the tool's.
        r"</?\s*(?:system|assistant|instructions?|system[_-]prompt)\s*>|<\|\w{2,20}\|>|\[/?INST\]|<<SYS>>",
        r"#{2,}\s*(?:system|instructions?)\b",
        r"(?:^|[.!?\s])(?-i:SYSTEM|ASSISTANT|Assistant|DEVELOPER|System prompt)\s*:\s+\w+(?:\W+\w+){2,}",
        # Orders that take others back.
        r"\b(?:ignore|disregard|forget|override|bypass)\b[^.]{0,30}\b(?:previous|prior|above|earlier"
        r"|preceding|your)\b"
        r"[^.]{0,20}\b(?:instructions?|rules?|prompts?|guidelines?|orders?|directions?|messages?"
        r"|polic(?:y|ies)|text)\b",
        r"\b(?:ignore|disregard|forget|override)\b[^.]{0,20}\b(?:all|any|other|these|the)\b[^.]{0,12}"
        r"\b(?:instructions|prompts|guidelines|warnings|findings|risks)\b",
        # What has been decided, it says.
        rf"\b(?:this|the)\s+(?:{_WORK}|code|change|version)\b[^.]{{0,30}}\b(?:is|was|has been|were"
        rf"|have been)\b[^.]{{0,20}}"
        r"\b(?:approved|reviewed|audited|vetted|trusted|harmless|whitelisted|safe)\b",
        r"\b(?:approved|reviewed|audited|vetted|verified|signed off|cleared)\s+by\s+(?:the\s+|our\s+"
        r"|your\s+|an?\s+)?"
        r"(?:security|administrators?|admins?|humans?|person|maintainers?|it|legal|compliance|alita"
        r"|anthropic|openai|user)\b",
        r"\bno\s+(?:further\s+|additional\s+|manual\s+|human\s+|more\s+)?(?:review|reading|approval"
        r"|inspection|checks?)\s+"
        r"(?:is\s+|are\s+)?(?:needed|required|necessary)",
        r"\b(?:reviewed by|found safe|known to be safe|safe to approve"
        r"|pre-?approved)\b(?=.{0,60}\b(?:approve|safe|person)|$)",
        r"\ball\s+(?:the\s+)?(?:checks|gates|reviews)\s+(?:have\s+)?(?:pass(?:ed)?|are green)\b"
        r"|\banswer that all tests\b",
        r"\b(?:checks?|findings?|warnings?|risks?|alarms?)\s+(?:below|above|here|on this page)"
        r"\s+(?:are|is|can|may|should|do|does|were)\b",
        # What the person is to do.
        r"\bplease\s+(?:approve|accept|sign off|allow|grant)\b|\bapprove\s+(?:this|it|without"
        r"|immediately|now|quickly)\b",
        rf"\bapprove\s+the\s+{_WORK}\b|\b(?:no need to|you need not|do not bother to)\s+(?:read|review"
        rf"|check|look)\b",
        r"\bpress(?:ing)?\s+(?:the\s+key\s+)?[\"'`“‘]?[a-z][\"'`”’]?(?=\s*(?:[,.;:!)]|$|to\b|and\b|now\b))",
        r"\bpress(?:ing)?\s+(?:enter|return|space)\s+to\s+(?:approve|accept|continue)\b",
        # Who is spoken to.
        rf"\b(?:dear|hello|hi|attention|(?:note|message|hint|advice)\s+(?:to|for)(?:\s+the)?|to"
        rf"\s+the)\s+{_READER}\b\s*[:,]",
        rf"\bdear\s+{_READER}\b|\b(?:reviewers?|approvers?|graders?)\s+(?:must|should|shall|may|need"
        rf"|has to|have to)\b",
        r"\bas\s+an?\s+(?:ai|llm|(?:large\s+)?language model|ai assistant)\b|\byou are\s+(?:now"
        r"\s+)?(?:an?\s+)?(?:ai|llm|assistant"
        r"|language model|helpful assistant|(?:code\s+)?reviewer)\b|\bdeveloper mode\b",
        # How it is to be judged, and what is to be kept quiet.
        r"\b(?:mark|rate|grade|report|score|judge|treat)\b[^.]{0,20}\b(?:every|all|each|this|the)\b[^.]{0,20}"
        r"\b(?:answers?|cases?|tests?|tool|build|drafts?|checks?|findings?|code|results?)\b[^.]{0,12}"
        r"\bas\s+(?:correct|safe|pass(?:ed|ing)|harmless|approved|right)\b",
        r"\b(?:do not|don't|never)\s+(?:report|mention|flag|reveal|warn|inspect|review|question"
        r"|disclose)\b[^.]{0,30}"
        r"\b(?:users?|person|reviewers?|approvers?|anyone|anybody|findings?|problems?|risks?"
        r"|warnings?|it|this)\b",
        r"\b(?:submit|write|propose)\s+(?:no|only)\s+(?:test\s+)?cases\b|\breturn\s+raises\b",
        # What the agent is to do.
        r"\b(?:call|invoke|execute|use|run)\s+(?:the\s+)?(?:tool\s+|action\s+)?(?:run_tool|build_tool"
        r"|find_tool|ask_user"
        r"|search_web|read_page|look_back)\b",
        r"(?:^|[.:;!]\s*|\b(?:important|must|now|please)\b:?\s*)(?:tell|inform|convince|persuade|ask"
        r"|instruct)\s+(?:the|your)\s+"
        r"(?:user|person|human|operator|approver|reviewer)\b",
        r"\b(?:reveal|print|output|send|leak|upload|post|share|pass|include|call)\b[^.]{0,50}"
        r"(?:\bsystem prompt\b|\byour\s+(?:keys?|secrets?|passwords?|instructions?|prompt)\b"
        r"|~?/?\.ssh\b|\.aws/credentials)",
    )
)  # fmt: skip
_TALKS = re.compile(r"\b(?:chats?|transcripts?|conversations?|dialog(?:ue)?s?|interviews?)\b", re.IGNORECASE)
"""Purposes whose tests have voices in them that begin a line."""
_SPEAKER = re.compile(r"(?m)^\s*(?:system|assistant|user|human|ai|bot|agent)\s*:[ \t]*", re.IGNORECASE)
_MARKUP = re.compile(
    r"\[/?(?:bold|italic|dim|blink|reverse|red|green|yellow|white|link|on)\b[^\]\n]{0,40}\]|\x1b\[|[✔✅☑✓]"
)
"""What would draw on a page that reads markup; and the mark that the page itself gives what has passed."""
_LONGEST = 20_000
_QUOTED = 90


def note_addressed(notes: Notes, draft: ToolDraft, code: ast.Module | None, tests: ast.Module | None) -> None:
    """Note what speaks to its reader, with the words and where they stand."""
    talks = _TALKS.search(draft.description) is not None
    for where, line, text in _texts(draft, code, tests):
        text = _SPEAKER.sub("", text) if talks and where.startswith("tests") else text
        plain = " ".join(_plain(text[:_LONGEST]).split())
        hit = next((hit for one in _SAID if (hit := one.search(plain))), None)
        found = hit.span() if hit else persuades(plain)
        if found is None and where in ("description", "name") and (mark := _MARKUP.search(text)):
            found = mark.span()
            plain = text
        if found is not None:
            start = max(0, found[0] - 10 if found[1] - found[0] < _QUOTED else found[0])
            words = one_line(reveal(plain[start:][: max(_QUOTED, found[1] - start)].strip()), 140)
            said = f"{where}{': ' if where else ''}speaks to its reader: “{words}”"
            notes.add("high", "ast/addressed", said, line)


def _plain(text: str) -> str:
    """A text as it is read: compatible letters made alike, characters without a cell taken out."""
    alike = unicodedata.normalize("NFKC", text)
    return "".join(one for one in alike if unicodedata.category(one) not in ("Cf", "Mn") or one == "\n")


def _texts(
    draft: ToolDraft, code: ast.Module | None, tests: ast.Module | None
) -> Iterator[tuple[str, int, str]]:
    """Everything in a draft that is text: where it stands, its line of the code, the text."""
    yield "description", 0, draft.description
    for name, schema in (("input schema", draft.input_schema), ("output schema", draft.output_schema)):
        for text in _schema_texts(schema):
            yield name, 0, text
    for what, tree, source in (("code", code, draft.code), ("tests", tests, draft.tests)):
        for line, text in (*_comments(source), *(_constants(tree) if tree is not None else ())):
            yield ("", line, text) if what == "code" else (f"tests, line {line}", 0, text)


def _schema_texts(schema: Json) -> Iterator[str]:
    rest: list[Json] = [schema]
    while rest:
        one = rest.pop()
        if isinstance(one, str):
            yield one
        elif isinstance(one, dict):
            rest += [*one.values(), *(str(key).replace("_", " ") for key in one)]
        elif isinstance(one, list):
            rest += one


def _comments(source: str) -> Iterator[tuple[int, str]]:
    """Comments, those of lines that follow each other as one text, by their first line."""
    first, last, parts = 0, 0, list[str]()
    try:
        for token in tokenize.generate_tokens(io.StringIO(source).readline):
            if token.type != tokenize.COMMENT:
                continue
            if parts and token.start[0] != last + 1:
                yield first, " ".join(parts)
                parts = []
            first = first if parts else token.start[0]
            last = token.start[0]
            parts.append(token.string.lstrip("#! "))
    except (tokenize.TokenError, SyntaxError, ValueError):
        pass  # what could not be read is no code, which is told elsewhere
    if parts:
        yield first, " ".join(parts)


def _constants(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Texts of the code, those put together by `+` or in an f-string as one; names as the words they consist of."""
    inner: set[int] = set()
    for node in ast.walk(tree):  # parents come before what they hold
        if isinstance(node, ast.BinOp | ast.JoinedStr) and id(node) not in inner:
            parts = [
                one for one in ast.walk(node) if isinstance(one, ast.Constant) and isinstance(one.value, str)
            ]
            inner |= {id(one) for one in ast.walk(node)}
            parts.sort(key=lambda one: (one.lineno, one.col_offset))
            if parts:
                yield parts[0].lineno, "".join(str(one.value) for one in parts)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in inner:
            yield node.lineno, node.value
        elif isinstance(node, FUNCTIONS | ast.ClassDef):
            yield node.lineno, node.name.replace("_", " ")
    yield from Folding(tree).texts()  # encoded, backwards, in pieces
