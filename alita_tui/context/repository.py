"""A repository in short: its tree, how its README begins, and where it defines what a task names."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection
from pathlib import Path, PurePosixPath
from time import monotonic

from alita_tui.context.folder import Folder
from alita_tui.context.symbols import SOURCES, Definition, Wanted, definitions
from alita_tui.events import ContextBlock
from alita_tui.spine.errors import UsageError
from alita_tui.spine.text import counted, one_line

_TREE, _README, _SYMBOLS = 1_200, 1_300, 1_300
"""Characters of each part at most: together what a block may take."""
_README_READ = 64 << 10
_SOURCE_READ = 256 << 10
_NAMED_FILES = 8
_WEAK = 12
"""Maximum number of definitions that match only a plain word of the task."""
_KEPT = 20_000
"""Maximum number of files whose definitions are cached."""
_PICTURES = re.compile(r"^\[?!\[.*\n+", re.MULTILINE)
_IS_README = re.compile(r"readme(\.(md|markdown|rst|txt|adoc|org))?", re.IGNORECASE)


class Repository:
    """Reads one folder; remembers what files define until they change."""

    def __init__(self, root: Path, redact: Callable[[str], str]) -> None:
        self._root = root
        self._redact = redact
        self._defined: dict[str, tuple[tuple[int, int], list[Definition]]] = {}

    def block(self, task: str, until: float) -> ContextBlock | None:
        """Return the block for a task; by the time `until` with what was read. Raises UsageError."""
        folder = Folder(self._root)
        root = folder.root.resolve()
        if not folder.in_git and root in (Path.home().resolve(), Path(root.anchor)):
            raise UsageError(f"{root} is not a repository; set context.repository to one.")
        names_until = (monotonic() + until) / 2  # half of the time is for reading
        names = folder.names(names_until)
        prefix = "at least " if monotonic() > names_until else ""
        wanted = Wanted(task)
        readme = next((name for name in names if _IS_README.fullmatch(name)), "")
        begins = self._readme(folder, readme) if readme else ""
        kind = "Git, " if folder.in_git else ""
        parts = [f"{folder.name} ({kind}{prefix}{counted(len(names), 'file')})", _tree(names)]
        if named_files := _named_files(names, task):
            parts.append("Files that the task may mean:\n" + "\n".join(named_files))
        if wanted.anything and (symbols := self._symbols(folder, names, wanted, until)):
            parts.append("Definitions that the task may mean:\n" + symbols)
        parts += [f"{readme} begins:\n{begins}"] if begins else []
        text = self._redact("\n\n".join(filter(None, parts)))
        return ContextBlock(name="repository", source=f"the repository {folder.name}", text=text)

    def _readme(self, folder: Folder, name: str) -> str:
        text = _PICTURES.sub("", self._redact(folder.text(name, _README_READ))).strip()
        return text if len(text) <= _README else text[:_README].rpartition("\n")[0] + "\n…"

    def _symbols(self, folder: Folder, names: list[str], wanted: Wanted, until: float) -> str:
        sources = [name for name in names if name[name.rfind(".") :].casefold() in SOURCES]
        # Files whose names the task mentions come first, then those near the top of the tree.
        ranks_of_files = {
            name: wanted.rank(PurePosixPath(name).stem) for name in sources if wanted.may_be_in(name)
        }
        sources.sort(key=lambda name: (-ranks_of_files.get(name, 0), name.count("/"), name))
        ranked: list[tuple[int, str, Definition]] = []
        for name in sources:
            if monotonic() > until:
                break
            ranked += [
                (rank, name, definition)
                for definition in self._definitions(folder, name, wanted)
                if (rank := wanted.rank(definition.name))
            ]
        ranked.sort(key=lambda entry: (-entry[0], entry[1].count("/"), entry[1], entry[2].line))
        lines: list[str] = []
        room = _SYMBOLS
        strong = sum(rank > 1 for rank, _, _ in ranked)
        for _rank, name, (line, symbol) in ranked[: strong + _WEAK]:
            line_text = f"{one_line(name, 120)}:{line} {one_line(symbol, 80)}"
            if (room := room - len(line_text) - 1) < 0:
                break
            lines.append(line_text)
        return "\n".join(lines)

    def _definitions(self, folder: Folder, name: str, wanted: Wanted) -> list[Definition]:
        stamp = folder.stamp(name)
        cached = self._defined.get(name)
        if cached and cached[0] == stamp:
            return cached[1]
        text = folder.text(name, _SOURCE_READ)
        if not wanted.may_be_in(text):
            return []
        defined = definitions(PurePosixPath(name).suffix.casefold(), text)
        if len(self._defined) < _KEPT:
            self._defined[name] = (stamp, defined)
        return defined


def _named_files(names: list[str], task: str) -> list[str]:
    """Return the files whose name or path is in the task."""
    words = {word.strip(".,;:!?()'\"`") for word in task.split()}
    words = {word for word in words if "." in word or "/" in word}
    return [
        str(one_line(name, 160))
        for name in names
        if any(name == word or name.endswith(f"/{word.lstrip('/')}") for word in words)
    ][:_NAMED_FILES]


Tree = dict[str, "Tree | None"]
"""Names in a folder: folders with what is in them, files with None."""


def _tree(names: list[str]) -> str:
    """Return the tree, opening folders from the top, the fullest first, while there is room."""
    root: Tree = {}
    counts = Counter[str]()
    for name in names:
        *folders, file_name = name.split("/")
        current, path = root, ""
        for folder in folders:
            path += f"{folder}/"
            counts[path] += 1
            inner = current.setdefault(folder, {})
            if inner is None:
                break
            current = inner
        else:
            current[file_name] = None
    opened: set[str] = set()
    room = _TREE - sum(map(len, _listed(root, "", counts, ())))
    waiting = [("", root)]
    while waiting:
        path, tree = waiting.pop(0)
        below = [(name, inner) for name, inner in tree.items() if inner is not None and len(inner) < room]
        for name, inner in sorted(
            below, key=lambda entry: (entry[0].startswith("."), -counts[f"{path}{entry[0]}/"])
        ):
            inside = f"{path}{name}/"
            cost = sum(len(line) + 1 for line in _listed(inner, inside, counts, ()))
            if cost <= room:
                room -= cost
                opened.add(inside)
                waiting.append((inside, inner))
    text = "\n".join(_listed(root, "", counts, opened))
    if len(text) <= _TREE:
        return text
    cut = text[:_TREE].rpartition("\n")[0]
    return f"{cut}\n… {text.count(chr(10)) - cut.count(chr(10))} more"


def _listed(folder: Tree, path: str, counts: Counter[str], opened: Collection[str]) -> list[str]:
    """Return the lines of a folder and of those below it that are opened."""
    indent = "  " * path.count("/")
    lines = []
    for name in sorted(folder):
        inner = folder[name]
        label = one_line(name, 80)
        if inner is None:
            lines.append(f"{indent}{label}")
        elif (inside := f"{path}{name}/") in opened:
            lines += [f"{indent}{label}/", *_listed(inner, inside, counts, opened)]
        else:
            lines.append(f"{indent}{label}/ ({counted(counts[inside], 'file')})")
    return lines
