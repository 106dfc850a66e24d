"""A draft's language is part of its digest; what was approved before there was one keeps the digest it had."""

import msgspec
import pytest

from alita_tui.events import Lock, LockedPackage, ToolDraft, build_digest
from alita_tui.runtimes.languages import runtime_of
from alita_tui.sandbox.engine import PodmanSandbox
from alita_tui.spine.ports.sandbox import Job
from tests.runtimes.earlier import EARLIER

DRAFT = "f47715bf74210c729268dd66119d53135165a15453bceabe2ef44181d6ea6ddb"
BUILD = "4e66e985d56330b2a6c32ca56f99b83f73760ca5ef96d8ca06889ac96a84f078"


def test_a_draft_from_before_languages_keeps_its_digest_and_its_bytes():
    draft = msgspec.json.decode(EARLIER, type=ToolDraft)
    package = LockedPackage(name="httpx", version="0.28", hashes=("sha256:00",))
    lock = Lock(requirements=("httpx>=0.27",), packages=(package,), python="3.12", platform="x")
    assert draft.language == "python"
    assert (draft.digest, build_digest(draft, lock)) == (DRAFT, BUILD)
    assert msgspec.json.encode(draft).decode() == EARLIER


def test_the_same_bytes_in_another_language_are_another_draft():
    draft = msgspec.json.decode(EARLIER, type=ToolDraft)
    others = {
        msgspec.structs.replace(draft, language=name).digest for name in ("bash", "javascript", "typescript")
    }
    assert len(others | {draft.digest}) == 4


@pytest.mark.podman
@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    ("language", "code"),
    [
        ("javascript", "export async function run(input) { return input.left - input.right; }\n"),
        ("bash", "jq '.left - .right'\n"),
    ],
)
async def test_the_order_of_arguments_is_no_part_of_a_digest_and_changes_no_run(
    podman: PodmanSandbox, language: str, code: str
):
    """Only a test may give them by their place; a call of an approved tool gives each by its name."""
    draft = msgspec.json.decode(EARLIER, type=ToolDraft)
    drafts = [
        msgspec.structs.replace(
            draft,
            language=language,
            code=code,
            input_schema={"type": "object", "properties": {name: {"type": "integer"} for name in names}},
        )
        for names in (("left", "right"), ("right", "left"))
    ]
    assert len({each.digest for each in drafts}) == 1
    lock = await podman.lock(runtime_of(language).needs, lambda *_: None)
    for each in drafts:
        for arguments in ({"left": 5, "right": 3}, {"right": 3, "left": 5}):
            job = Job(
                run_id="r", module="subtract", code=each.code, language=language, arguments=arguments, lock=lock,
                parameters=tuple(runtime_of(language).parameters(each)),
            )  # fmt: skip
            report = await podman.run(job, lambda *_: None, lambda *_: None)
            assert (report.status, report.result) == ("ok", 2), report


# As version 0.2.0 wrote a lock, before there were packages of npm, with the digest that it computed.
EARLIER_LOCK = (
    b'{"requirements":["httpx>=0.27"],"packages":[{"name":"httpx","version":"0.28","hashes":["sha256:00","sha256:01"],'
    b'"uploaded":"2024-01-01T00:00:00+00:00","size":9,"direct":true},'
    b'{"name":"idna","version":"3.7","hashes":["sha256:02"]}],"python":"3.12","platform":"x86_64-manylinux_2_36"}'
)
LOCK = "0f08681c810239dc59d83a430ffe1c75fd966cd0df02ebe858a943cf3a5958e0"


def test_a_lock_from_before_packages_of_npm_keeps_its_digest_and_its_bytes():
    lock = msgspec.json.decode(EARLIER_LOCK, type=Lock)
    assert lock.digest == LOCK and lock.npm == () and lock.wheels == lock
    assert msgspec.json.encode(lock) == EARLIER_LOCK
