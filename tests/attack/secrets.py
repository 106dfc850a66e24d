"""Attacks on what keeps secrets from a tool: a granted host sends one back in any writing, cut anywhere.

The oracle is a reader of each writing (`disguising.FORMS`): whatever it makes of what is left holds no secret.
"""

from __future__ import annotations

import base64
import random
import string
from collections.abc import Iterator

from alita_tui.sandbox.broker.secrets import SecretMask
from alita_tui.spine.secret_forms import SecretForms
from tests.attack.report import Outcome
from tests.support.disguising import FORMS

TRIES = 250
"""Secrets for each writing."""
_LETTERS = string.ascii_letters + string.digits
_ALPHABETS = (
    _LETTERS,
    _LETTERS + "+/=",
    _LETTERS + "_-.",
    string.printable.strip(),
    "üöß密码пароль🔑" + _LETTERS,
)


def secrets(dice: random.Random, count: int) -> Iterator[str]:
    """Keys of vendors' shapes, passwords and tokens, none of them a real one."""
    for _ in range(count):
        letters = dice.choice(_ALPHABETS).replace("*", "")
        body = "".join(dice.choices(letters, k=dice.randint(8, 72)))
        shape = dice.randrange(5)
        yield (
            body,
            f"sk-{body}",
            f"user:{body}",
            base64.b64encode(body.encode()).decode(),
            f"{body[:4]} {body[4:]}",
        )[shape]


def _left(secret: str, data: bytes, cuts: list[int]) -> bytes:
    mask, left, at = SecretMask(SecretForms([secret])), b"", 0
    for cut in cuts:
        left, at = left + mask.masked(data[at:cut]), cut
    return left + mask.masked(data[at:]) + mask.masked(b"", last=True)


def attack(share: float, seed: int) -> list[Outcome]:
    """Every writing with secrets of many shapes, in one piece and in up to twelve."""
    dice = random.Random(f"secrets {seed}")
    outcomes = []
    for form, (write, read) in FORMS.items():
        missed = []
        count = max(5, round(TRIES * share))
        for secret in secrets(dice, count):
            data = write(secret)
            cuts = sorted(dice.choices(range(len(data) + 1), k=dice.randint(0, 11)))
            left = _left(secret, data, cuts)
            if secret.encode() in read(left) or secret.encode() in left:
                missed.append(f"{form}: {secret!r} cut at {cuts}")
        outcomes.append(Outcome(f"secrets: {form}", count, count - len(missed), tuple(missed)))
    return outcomes
