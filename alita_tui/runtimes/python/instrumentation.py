"""Instruments a draft's code so that it reports which places a run reaches. Pure.

Every statement, both branches of an `if`, and every part of an expression that may be skipped has a number;
instrumented code calls a function with it. So a payload on the line of its condition, in a lambda or behind an `and`
is a place of its own, and the line numbers are the draft's.
"""

from __future__ import annotations

import ast

from alita_tui.runtimes.places import Instrumented, Place
from alita_tui.runtimes.python.form import is_standard_main
from alita_tui.runtimes.python.rare_values import rare_names, rare_value, rare_values
from alita_tui.spine.syntax import parse

_REPORT = "__alita_passed__"


def instrumented(code: str) -> Instrumented:
    """Return the code with its places. Raises one of `spine.syntax.UNPARSABLE` if it cannot be parsed."""
    marker = _Marker()
    tree = marker.visit(parse(code))
    return Instrumented(ast.unparse(ast.fix_missing_locations(tree)), tuple(marker.places))


class _Marker(ast.NodeTransformer):
    """Puts a call with a number before each statement and around each part that may be skipped."""

    def __init__(self) -> None:
        self.places: list[Place] = []
        self._search_results: set[str] = set()
        """Names that are only assigned the result of a regular expression search."""
        self._branches: set[ast.expr] = set()
        """Conditions whose two branches are places already."""
        self._rare_names: dict[str, str] = {}
        """Names of collections of a few rare values, with these values."""

    def visit_Module(self, node: ast.Module) -> ast.Module:
        self._search_results = _search_results(node)
        self._rare_names = rare_names(node)
        statements = [statement for statement in node.body if not is_standard_main(statement)]
        node.body = [
            marked
            for statement in statements
            for marked in ([statement] if _is_for_type_checkers(statement) else self._block([statement]))
        ]
        return node

    def generic_visit(self, node: ast.AST) -> ast.AST:
        for name, value in ast.iter_fields(node):
            if isinstance(value, ast.AST):
                setattr(node, name, self.visit(value))
            elif isinstance(value, list) and value and isinstance(value[0], ast.stmt):
                setattr(node, name, self._block(value))
            elif isinstance(value, list):
                setattr(
                    node, name, [self.visit(item) if isinstance(item, ast.AST) else item for item in value]
                )
        return node

    def visit_If(self, node: ast.If) -> ast.AST:
        no_else, test = not node.orelse, node.test
        self._branches.add(test)
        self.generic_visit(node)
        if no_else:
            rare_value = bool(self._one_value(test))
            report = self._report_call(
                node.lineno, node.lineno, "its condition was never false", code=rare_value
            )
            node.orelse = [ast.Expr(report)]
        return node

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        idle_body = self._stands_for_no_match(node.test, node.body, last=False)
        idle_orelse = self._stands_for_no_match(node.test, node.orelse, last=True)
        self._branches.add(node.test)
        self.generic_visit(node)
        missing = "part of `… if … else …` was never taken"
        node.body = self._part(node.body, f"the first {missing}", code=not idle_body)
        node.orelse = self._part(node.orelse, f"the last {missing}", code=not idle_orelse)
        return node

    def _stands_for_no_match(self, test: ast.expr, part: ast.expr, *, last: bool) -> bool:
        """Return True if a part handles a search without a match: nothing is skipped if the search always matches."""
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            test, last = test.operand, not last
        match test:
            case ast.Compare(
                left=left, ops=[ast.IsNot() | ast.Is() as op], comparators=[ast.Constant(value=None)]
            ):
                test, last = left, last is isinstance(op, ast.IsNot)
            case _:
                pass
        does_nothing = isinstance(part, ast.Name) or ast.unparse(part) in ("None", "''", "[]", "{}", "()")
        return last and does_nothing and isinstance(test, ast.Name) and test.id in self._search_results

    def visit_While(self, node: ast.While) -> ast.AST:
        self._branches.add(node.test)
        return self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        calls = [any(isinstance(child, ast.Call) for child in ast.walk(value)) for value in node.values]
        rare = (ast.Eq, ast.In) if isinstance(node.op, ast.And) else (ast.NotEq, ast.NotIn)
        for value, has_call in zip(node.values, calls[1:], strict=False):
            if has_call and isinstance(value, ast.Compare) and isinstance(value.ops[0], rare):
                self._branches.add(value)  # what follows runs only with this outcome, and is a place itself
        plain_conditions = [_is_truth(value) and not self._one_value(value) for value in node.values]
        self.generic_visit(node)
        skipped = f"what follows `{'and' if isinstance(node.op, ast.And) else 'or'}` was never looked at"
        unusual_outcome, word = (True, "or") if isinstance(node.op, ast.Or) else (False, "and")
        missing = f"a side of `{word}` was never {str(unusual_outcome).lower()}"
        node.values = [
            self._outcome(value, missing, unusual_outcome, code=False) if is_plain else value
            for value, is_plain in zip(node.values, plain_conditions, strict=True)
        ]
        followers = zip(node.values[1:], calls[1:], strict=True)
        node.values = [
            node.values[0],
            *(self._part(value, skipped, code=has_call) for value, has_call in followers),
        ]
        return node

    def visit_comprehension(self, node: ast.comprehension) -> ast.AST:
        """Treat a filter like an `if`; a comparison that never excluded anything is reported."""
        compared = [
            any(isinstance(part, ast.Compare) for part in ast.walk(condition)) for condition in node.ifs
        ]
        one_rare_value = [bool(self._one_value(condition)) for condition in node.ifs]
        self.generic_visit(node)
        missing = "its condition was never false"
        node.ifs = [
            condition if is_rare else self._outcome(condition, missing, False, code=has_comparison)
            for condition, has_comparison, is_rare in zip(node.ifs, compared, one_rare_value, strict=True)
        ]
        return node

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        """Make the outcome of a comparison with one rare value a place of its own."""
        value = "" if node in self._branches else self._one_value(node)
        rare = isinstance(node.ops[0], ast.Eq | ast.In)
        self.generic_visit(node)
        return self._outcome(node, f"no run turned on {value}", rare) if value else node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        match node:
            case ast.Call() if node in self._branches:
                return self.generic_visit(node)
            case ast.Call(func=ast.Attribute(attr="startswith" | "endswith"), args=[side], keywords=[]) if (
                value := rare_values(side, self._rare_names)
            ):
                self.generic_visit(node)
                return self._outcome(node, f"no run turned on {value}", True)
            case ast.Call(
                func=ast.Attribute(value=mapping, attr="get"), args=[key, *defaults], keywords=[]
            ) if (value := rare_values(mapping, self._rare_names)) and all(
                isinstance(default, ast.Constant | ast.Name) for default in defaults
            ):  # a table of a few special cases
                self.generic_visit(node)
                return self._reported_lookup(node, mapping, key, value)
            case _:
                return self.generic_visit(node)

    def _reported_lookup(self, node: ast.Call, mapping: ast.expr, key: ast.expr, value: str) -> ast.expr:
        """`(lambda key: (key in table and told(n), table.get(key, …))[1])(key)`."""
        report = self._report_call(node.lineno, node.lineno, f"no run turned on {value}")
        name = ast.Name("__alita_key__", ast.Load())
        inside = ast.Compare(name, [ast.In()], [mapping])
        item = ast.Call(node.func, [name, *node.args[1:]], [])
        pair = ast.Tuple([ast.BoolOp(ast.And(), [inside, report]), item], ast.Load())
        parameters = ast.arguments(
            posonlyargs=[], args=[ast.arg(name.id)], kwonlyargs=[], kw_defaults=[], defaults=[]
        )
        body = ast.Subscript(pair, ast.Constant(1), ast.Load())
        return ast.copy_location(ast.Call(ast.Lambda(parameters, body), [key], []), node)

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        self.generic_visit(node)
        node.body = self._part(node.body, "its lambda was never called")
        return node

    def visit_ListComp(self, node: ast.ListComp) -> ast.AST:
        return self._comprehension(node)

    def visit_SetComp(self, node: ast.SetComp) -> ast.AST:
        return self._comprehension(node)

    def visit_GeneratorExp(self, node: ast.GeneratorExp) -> ast.AST:
        return self._comprehension(node)

    def visit_DictComp(self, node: ast.DictComp) -> ast.AST:
        self.generic_visit(node)
        node.value = self._part(node.value, "its comprehension never had an item")
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        node.value = self.visit(node.value) if node.value is not None else None
        return node

    def visit_arg(self, node: ast.arg) -> ast.AST:
        return node

    def _comprehension(self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp) -> ast.AST:
        self.generic_visit(node)
        node.elt = self._part(node.elt, "its comprehension never had an item")
        return node

    def _block(self, statements: list[ast.stmt]) -> list[ast.stmt]:
        marked: list[ast.stmt] = []
        for statement in statements:
            if not _has_no_effect(statement):
                marked.append(ast.Expr(self._report_call(statement.lineno, _header_end(statement))))
            marked.append(self.visit(statement))
        return marked

    def _report_call(self, line: int, end: int, missing: str = "", *, code: bool = True) -> ast.Call:
        place = Place(len(self.places) + 1, line, end, missing, code)
        self.places.append(place)
        return ast.Call(ast.Name(_REPORT, ast.Load()), [ast.Constant(place.number)], [])

    def _part(self, part: ast.expr, missing: str, *, code: bool = True) -> ast.expr:
        """Return `(told(n), part)[1]`: the part, reported when it is evaluated."""
        pair = ast.Tuple([self._report_call(part.lineno, part.lineno, missing, code=code), part], ast.Load())
        return ast.Subscript(pair, ast.Constant(1), ast.Load())

    def _one_value(self, test: ast.expr) -> str:
        """Return the rare value that a condition depends on (`name == "j.miller"`); empty for common ones, or
        none.
        """
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            test = test.operand
        match test:
            case ast.Compare(left=left, ops=[ast.Eq() | ast.NotEq()], comparators=[right]):
                return rare_value(left) or rare_value(right)
            case ast.Compare(left=left, ops=[ast.In() | ast.NotIn()], comparators=[right]):
                return rare_value(left) or rare_values(right, self._rare_names)
            case ast.Call(func=ast.Attribute(attr="startswith" | "endswith"), args=[side]):
                return rare_values(side, self._rare_names)
            case _:
                return ""

    def _outcome(
        self, part: ast.expr, missing: str, reported_outcome: bool, *, code: bool = True
    ) -> ast.expr:
        """Return a condition that reports when its outcome is `turned`: a place without a line of its own."""
        report = self._report_call(part.lineno, part.lineno, missing, code=code)
        outcome = ast.Subscript(
            ast.Tuple([report, ast.Constant(reported_outcome)], ast.Load()), ast.Constant(1), ast.Load()
        )
        return ast.copy_location(
            ast.BoolOp(ast.And() if reported_outcome else ast.Or(), [part, outcome]), part
        )


def _is_truth(node: ast.expr) -> bool:
    """Return True for an expression that is a boolean, not just truthy."""
    return isinstance(node, ast.Compare) or (isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not))


def _search_results(tree: ast.Module) -> set[str]:
    """Return names that are only ever assigned the result of a regular expression search."""
    searched: set[str] = set()
    other_names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign | ast.NamedExpr):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            function = node.value.func if isinstance(node.value, ast.Call) else None
            is_search = isinstance(function, ast.Attribute) and function.attr in (
                "match",
                "search",
                "fullmatch",
            )
            names = {target.id for target in targets if isinstance(target, ast.Name)}
            searched |= names if is_search else set()
            other_names |= set() if is_search else names
        elif isinstance(node, ast.For | ast.comprehension | ast.AugAssign):
            other_names |= {child.id for child in ast.walk(node.target) if isinstance(child, ast.Name)}
    return searched - other_names


def _has_no_effect(statement: ast.stmt) -> bool:
    """Return True for a statement with no observable effect of its own."""
    match statement:
        case ast.Global() | ast.Nonlocal() | ast.Import() | ast.ImportFrom() | ast.Try() | ast.Pass():
            return True
        case ast.Expr(value=ast.Constant()) | ast.AnnAssign(value=None):  # a docstring, `...`, a bare name
            return True
        case _:
            return False


def _header_end(statement: ast.stmt) -> int:
    """Return the last line of a statement before its nested block."""
    if isinstance(statement, ast.Match):
        return statement.subject.end_lineno or statement.lineno
    body: list[ast.stmt] = getattr(statement, "body", [])
    if body:
        return max(statement.lineno, body[0].lineno - 1)
    return statement.end_lineno or statement.lineno


def _is_for_type_checkers(statement: ast.stmt) -> bool:
    """Return True for `if TYPE_CHECKING:` with imports only, which never runs."""
    if not isinstance(statement, ast.If) or statement.orelse:
        return False
    only_imports = all(isinstance(child, ast.Import | ast.ImportFrom) for child in statement.body)
    return only_imports and ast.unparse(statement.test) in ("TYPE_CHECKING", "typing.TYPE_CHECKING")
