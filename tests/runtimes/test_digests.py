"""A draft's language is part of its digest; what was approved before there was one keeps the digest it had."""

import msgspec

from alita_tui.events import Lock, LockedPackage, ToolDraft, build_digest

# As version 1 of the format wrote it, with the digests that it computed.
EARLIER = (
    r'{"name":"word_count","description":"Counts words.","code":"def run(text: str) -> int:\n    return len(text.split())\n",'
    r'"tests":"from word_count import run\n\n\ndef test_two():\n    assert run('
    "'a b'"
    r') == 2\n",'
    '"requirements":["httpx>=0.27"],"input_schema":{"type":"object"},"output_schema":{"type":"integer"},'
    '"capabilities":{"network":["example.org:443"]}}'
)
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
