"""What people, pets, keyboards, clipboards and terminals do while a review opens: scripts of input, as made."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

ESC = b"\x1b"
NAMED = {
    "enter": b"\r", "space": b" ", "escape": ESC, "tab": b"\t", "down": b"\x1b[B", "up": b"\x1b[A",
    "end": b"\x1b[F", "f8": b"\x1b[19~", "backspace": b"\x7f", "pagedown": b"\x1b[6~",
}  # fmt: skip
_NO_KEY = bytes.maketrans(b"ucny", b"vdoz")
"""What would make a key, or an answer of the terminal itself, out of what is meant for noise."""
WORDS = ("approve nothing yet", "a", "aa", "yes please go on", "rather not", "tax table", "xoxo", "lol", "tt")
VERDICT_KEYS = "aaaaaaortxebw"


@dataclass(frozen=True)
class Step:
    """One thing that happens, a pause after the one before."""

    pause: float
    what: str
    """A key's name, or `paste`, `click …`, `wheel`, `move`, `focus`, `release`, `noise`; or what is no
    input: `stall` and `busy` (for `seconds`), `open` (F8 if need be, then look), `look` (until a review is painted),
    `resize`."""
    data: bytes = b""
    held: bool = False
    """A repetition of the key before, which is still down."""
    seconds: float = 0.0


def key(pause: float, what: str) -> Step:
    """One press of a key."""
    return Step(pause, what, NAMED.get(what) or what.encode())


def typed(rng: random.Random, text: str, first: float = 0.0) -> list[Step]:
    """Text as a person types it, at 60 to 250 ms a key."""
    pace = rng.uniform(0.06, 0.2)
    pauses = [first, *(max(0.035, rng.gauss(pace, pace / 4)) for _ in text[1:])]
    return [key(pause, "space" if char == " " else char) for pause, char in zip(pauses, text, strict=True)]


def held(rng: random.Random, what: str, pause: float, seconds: float) -> list[Step]:
    """A key held down: an initial delay of 200 to 1000 ms, then 10 to 40 repeats a second."""
    first = key(pause, what)
    delay, every = (
        rng.choice([0.2, 0.25, 0.4, 0.5, 0.6, 0.66, 0.8, 1.0]),
        1 / rng.choice([10, 15, 25, 30, 40]),
    )
    count = max(1, int((seconds - delay) / every))
    gaps = [delay] + [every] * count
    return [first, *(Step(gap, what, first.data, held=True) for gap in gaps)]


def burst(rng: random.Random, text: str, pause: float) -> list[Step]:
    """Text pasted where the terminal does not bracket pastes: every character at once."""
    data = text.ljust(2, "\n").replace("\n", "\r").encode()
    return [Step(pause, "paste", data)]


def bracketed(rng: random.Random, text: str, pause: float) -> list[Step]:
    """A bracketed paste, which may have escape sequences in it."""
    inside = rng.choice(["", "\x1b[A", "\x1b", "\x1b[201", "\x1b[97;1u", "\x1b[0n", "\x1bOP", "\x1b]0;a\x07"])
    return [Step(pause, "paste", b"\x1b[200~" + (text + inside + "a").encode() + b"\x1b[201~")]


def kitty(rng: random.Random, pause: float) -> list[Step]:
    """A key in the kitty protocol: pressed, repeated, let go."""
    what = rng.choice(VERDICT_KEYS)
    code = str(ord(what)).encode()
    steps = [Step(pause, what, b"\x1b[%b;1u" % code if rng.random() < 0.5 else b"\x1b[%b;1:1u" % code)]
    if rng.random() < 0.5:
        repeats = rng.randrange(1, 6)
        steps += [
            Step(rng.choice([0.5, 0.03]), what, b"\x1b[%b;1:2u" % code, held=True) for _ in range(repeats)
        ]
    return [*steps, Step(rng.uniform(0.04, 0.6), "release", b"\x1b[%b;1:3u" % code)]


def mouse(rng: random.Random, pause: float, x: int = 60, y: int = 20) -> list[Step]:
    """Moves, turns of the wheel, and clicks on what is no verdict."""
    kind = rng.choice(["move", "wheel", "click"])
    if kind == "move":
        at = [(x + n, y) for n in range(rng.randrange(1, 5))]
        return [
            Step(pause if not n else 0.02, "move", b"\x1b[<35;%d;%dM" % spot) for n, spot in enumerate(at)
        ]
    if kind == "wheel":
        return [Step(pause, "wheel", b"\x1b[<65;%d;%dM" % (x, y))]
    return [
        Step(pause, "click code", b"\x1b[<0;%d;%dM" % (x, y)),
        Step(rng.uniform(0.03, 0.15), "release", b"\x1b[<0;%d;%dm" % (x, y)),
    ]


def noise(rng: random.Random, pause: float) -> list[Step]:
    """A sequence that no key makes: broken off, over-long, unknown, or not UTF-8."""
    made = garbage(rng)
    # Some keyboard may have a key for it, unless it is a string for the terminal.
    return [
        Step(
            pause,
            "noise" if made[:2] in (b"\x1b]", b"\x1bP", b"\x1b_", b"\x1b^", b"\x1bX") else "other",
            made,
        )
    ]


def garbage(rng: random.Random) -> bytes:
    """A legal or illegal CSI, SS3, OSC, DCS or other control sequence, or bytes that are no text."""
    digits = "".join(rng.choices("0123456789;:?<=>", k=rng.choice([0, 1, 3, 6, 12, 40, 300])))
    final = bytes([rng.randrange(0x40, 0x7F)])
    kind = rng.randrange(9)
    if kind <= 2:
        made = ESC + b"[" + digits.encode() + rng.choice([b"", b" ", b"$", b"!"]) + final.translate(_NO_KEY)
    elif kind == 3:
        made = ESC + b"O" + bytes([rng.randrange(0x20, 0x7F)])
    elif kind == 4:
        end = rng.choice([b"\x1b\\", b"\x1b\\", b"\x07", b""])
        said = bytes(
            one for one in rng.randbytes(rng.choice([0, 5, 90])) if 0x20 <= one < 0x80 or one >= 0xA0
        )
        made = ESC + rng.choice(b"]P_^X").to_bytes() + said + end
    elif kind == 5:
        made = bytes(rng.randrange(0x80, 0x100) for _ in range(rng.randrange(1, 6)))
    elif kind == 6:
        made = ESC + b"[" + rng.choice([b"97;1:3u", b"97;1:2u", b"1114112u", b"99999999999u", b"97;:;:u", b"27;1:3u",
                                        b"97:65:97;2:1;65u", b";;u", b"97;1;1114112u", b"1;1:3A", b"57441;2:1u"])  # fmt: skip
    elif kind == 7:
        made = ESC + b"[" + rng.choice([b"<0;1;1", b"<999;99999999999999999999;1M", b"M\x7f\x80\xff", b"<35;-1;-1M",
                                        b"I", b"O"])  # fmt: skip
    else:
        # Control characters are keys, and some of them leave the session on purpose.
        made = bytes(one for one in rng.randbytes(rng.randrange(1, 12)) if one >= 0x20 or one in (0x00, 0x1B))
    if rng.random() < 0.2:
        made = made[: rng.randrange(len(made) + 1)]
    # What is a key, or the beginning of one, is no noise.
    return b"\x1b[?" if len(made) < 2 or made in (b"\x1b[", b"\x1bO", b"\x1bOM") else made


def deliberate(rng: random.Random) -> list[Step]:
    """What the promise allows: look, do something else, wait, press."""
    what = rng.choice(["a", "a", "a", "o"])
    return [
        Step(0, "open"),
        key(0.3, rng.choice(["down", "up"])),
        key(rng.uniform(0.6, 1.0), what),
        Step(0.3, "look"),
    ]


def rejection(rng: random.Random) -> list[Step]:
    """A reason is typed and sent, and the fingers go on."""
    steps = [
        Step(0, "open"),
        key(rng.uniform(0.3, 0.9), "r"),
        *typed(rng, rng.choice(WORDS), rng.uniform(0.1, 0.5)),
    ]
    steps.append(key(rng.choice([0.1, 0.3, 0.5, 0.8]), "enter"))
    return steps + (typed(rng, rng.choice(WORDS), rng.uniform(0.05, 0.6)) if rng.random() < 0.7 else [])


def one_too_many(rng: random.Random) -> list[Step]:
    """A key that decides, and the same again a moment later, or after a scroll while it is still down."""
    what = rng.choice(["a", "a", "o", "t", "x", "enter"])
    steps = [Step(0, "open"), key(rng.uniform(0.45, 0.9), what)]
    return steps + [key(rng.choice([0.2, 0.43, 0.5, 0.6, 1.2]), what) for _ in range(rng.randrange(1, 4))]


def stalled(rng: random.Random) -> list[Step]:
    """Keys made while the console stands still, one by one or close together."""
    length = rng.choice([0.1, 0.2, 0.3, 0.5, 0.8, 1.3, 2.0])
    steps = [
        Step(0, "open"),
        key(rng.uniform(0.0, 0.5), rng.choice("ajdn")),
        Step(rng.uniform(0, 0.4), "stall", seconds=length),
    ]
    for _ in range(rng.randrange(1, 4)):
        steps.append(key(rng.uniform(0.02, 0.45), rng.choice("aaajr")))
    return steps


def busy(rng: random.Random) -> list[Step]:
    """The event loop is busy while keys are read."""
    return [Step(0, "open"), Step(rng.uniform(0, 0.6), "busy", seconds=rng.uniform(0.1, 1.0)),
            *(key(rng.uniform(0.02, 0.5), rng.choice("aaajrn")) for _ in range(rng.randrange(1, 4)))]  # fmt: skip


def opening(rng: random.Random) -> list[Step]:
    """Typing or a held key that goes on while the review opens."""
    steps = typed(rng, "ok " + rng.choice(WORDS)) if rng.random() < 0.5 else []
    steps += [key(0.05, "escape"), key(rng.uniform(0.05, 0.5), "f8")]
    if rng.random() < 0.5:
        return steps + held(rng, rng.choice("aaaot"), rng.uniform(0.02, 0.5), rng.uniform(0.5, 2.6))
    return steps + typed(rng, rng.choice(WORDS) + " " + rng.choice(WORDS), rng.uniform(0.02, 0.4))


def anything(rng: random.Random) -> list[Step]:
    """A bit of everything, in any order."""
    steps = [Step(0, "open")]
    for _ in range(rng.randrange(2, 7)):
        steps += _one(rng, rng.choice([0.0, 0.02, 0.029, 0.1, 0.3, 0.42, 0.44, 0.5, 0.7, 1.0]))
    return steps


def _one(rng: random.Random, pause: float) -> list[Step]:
    make: list[Callable[[], list[Step]]] = [
        lambda: [key(pause, rng.choice([*VERDICT_KEYS, *"aajnpdcumlz", "enter", "space", "escape", "down"]))],
        lambda: [
            key(pause, rng.choice(VERDICT_KEYS)),
            key(rng.choice([0.005, 0.015, 0.025, 0.2]), rng.choice("ajp")),
        ],
        lambda: burst(rng, rng.choice(WORDS), pause),
        lambda: bracketed(rng, rng.choice(WORDS), pause),
        lambda: kitty(rng, pause),
        lambda: mouse(rng, pause),
        lambda: noise(rng, pause),
        lambda: held(rng, rng.choice("aatx"), pause, rng.uniform(0.3, 1.4)),
        lambda: [Step(pause, "focus", b"\x1b[O"), Step(0.2, "focus", b"\x1b[I")],
        lambda: [Step(pause, "resize")],
        lambda: [Step(pause, "stall", seconds=rng.choice([0.1, 0.3, 0.6, 1.5]))],
    ]
    return rng.choice(make)()


KINDS = (deliberate, rejection, one_too_many, stalled, busy, opening, anything, anything, anything)


def sequence(rng: random.Random) -> tuple[str, list[Step]]:
    """One script, and its kind."""
    make = rng.choice(KINDS)
    return make.__name__, make(rng)
