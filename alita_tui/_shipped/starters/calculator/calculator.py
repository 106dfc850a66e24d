# /// script
# requires-python = ">=3.11"
# dependencies = []
# ///
"""Work out an arithmetic expression exactly as written: numbers, names, operators and functions of mathematics."""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable

_LONGEST = 2000
_LARGEST = 10**6
_BINARY: dict[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
}
_FUNCTIONS: dict[str, Callable[..., float]] = {
    "abs": abs, "ceil": math.ceil, "cos": math.cos, "degrees": math.degrees, "exp": math.exp,
    "factorial": math.factorial, "floor": math.floor, "gcd": math.gcd, "hypot": math.hypot, "lcm": math.lcm,
    "log": math.log, "log10": math.log10, "log2": math.log2, "max": max, "min": min, "radians": math.radians,
    "round": round, "sin": math.sin, "sqrt": math.sqrt, "tan": math.tan,
}  # fmt: skip
_NAMES = {"pi": math.pi, "e": math.e, "tau": math.tau}


def run(expression: str, variables: dict[str, float] | None = None) -> dict[str, object]:
    """The value of an expression, as a number and as text; `variables` gives names their numbers.

    Raises ValueError for what is no arithmetic, or has no value.
    """
    if len(expression) > _LONGEST:
        raise ValueError(f"the expression is longer than {_LONGEST} characters")
    try:
        tree = ast.parse(expression.replace("^", "**").strip(), mode="eval")
        value = _value(tree.body, {**_NAMES, **(variables or {})})
        if isinstance(value, float) and not math.isfinite(value):
            raise ValueError("the value is not finite")
        return {"value": value, "text": str(value)}
    except SyntaxError as error:
        raise ValueError(f"this is no expression: {error.msg}") from error
    except ZeroDivisionError as error:
        raise ValueError("it divides by zero") from error
    except (OverflowError, RecursionError, MemoryError) as error:
        raise ValueError("the value, or the expression, is too large") from error
    except TypeError as error:
        raise ValueError(f"a function was given the wrong arguments: {error}") from error


def _value(node: ast.expr, names: dict[str, float]) -> float:
    match node:
        case ast.Constant(value=bool()):
            raise ValueError("only numbers can be worked with")
        case ast.Constant(value=int() | float() as number):
            return number
        case ast.Name(id=name):
            if name not in names:
                raise ValueError(f"there is no number for {name!r}")
            return names[name]
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_value(operand, names)
        case ast.UnaryOp(op=ast.UAdd(), operand=operand):
            return _value(operand, names)
        case ast.BinOp(left=left, op=sign, right=right) if type(sign) in _BINARY:
            one, two = _value(left, names), _value(right, names)
            if isinstance(sign, ast.Pow) and _too_large(one, two):
                raise OverflowError
            found = _BINARY[type(sign)](one, two)
        case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]) if name in _FUNCTIONS:
            given = [_value(argument, names) for argument in arguments]
            if name == "factorial" and given and given[0] > _LARGEST / 100:
                raise OverflowError
            found = _FUNCTIONS[name](*given)
        case _:
            raise ValueError("it holds something that is no number, operator or function of mathematics")
    if isinstance(found, complex):
        raise ValueError("the value is no real number")
    return found


def _too_large(base: float, exponent: float) -> bool:
    """True for whole numbers whose power has more digits than anyone wants to wait for."""
    both = isinstance(base, int) and isinstance(exponent, int)
    return both and abs(base) > 1 and exponent * math.log2(abs(base)) > _LARGEST / 50


if __name__ == "__main__":
    import json
    import sys

    print(json.dumps(run(**json.load(sys.stdin))))
