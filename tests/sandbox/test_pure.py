"""Frames, locks, targets and the create body: no container needed."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.requirements import Requirement

from alita_tui.sandbox.channel import frame, parse, take
from alita_tui.sandbox.environment import parse_lock, plain, target
from alita_tui.sandbox.host_folders import forget_an_earlier_boot
from alita_tui.sandbox.policy import ContainerSpec, create_body
from alita_tui.spine.errors import RequirementsError, SandboxUnavailable
from alita_tui.spine.ports.sandbox import Limits


@given(
    st.lists(st.tuples(st.binary(min_size=1, max_size=1), st.binary(max_size=300)), max_size=8),
    st.integers(1, 50),
)
def test_frames_are_reassembled_however_they_are_cut(frames, size: int) -> None:
    wire = b"".join(frame(kind, payload) for kind, payload in frames)
    buffer, found = bytearray(), []
    for start in range(0, len(wire), size):
        buffer += wire[start : start + size]
        while (one := take(buffer)) is not None:
            found.append(one)
    assert found == frames
    assert not buffer


def test_an_impossible_frame_is_refused() -> None:
    with pytest.raises(SandboxUnavailable):
        take(bytearray(b"\xff\xff\xff\xffA"))


def test_json_that_is_too_deep_is_refused_before_it_is_parsed() -> None:
    with pytest.raises(ValueError, match="deep"):
        parse("[" * 100_000)
    assert parse('{"a": "[[[[\\"["}') == {"a": '[[[["['}


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(), lambda inner: st.lists(inner, max_size=4)
    )
)
def test_shallow_json_is_returned_unchanged(value) -> None:
    assert parse(json.dumps(value)) == value


def test_a_lock_is_read_from_what_uv_writes() -> None:
    one, two = "a" * 64, "b" * 64
    text = f"""
lock-version = "1.0"
[[packages]]
name = "dnspython"
version = "2.8.0"
wheels = [{{ url = "https://x/a.whl", upload-time = 2026-11-03T23:56:52Z, size = 300, hashes = {{ sha256 = "{one}" }} }},
          {{ url = "https://x/b.whl", upload-time = 2026-11-04T01:00:00Z, size = 400, hashes = {{ sha256 = "{two}" }} }}]
[[packages]]
name = "Email_Validator"
version = "2.3.0"
wheels = [{{ url = "https://x/c.whl", hashes = {{ sha256 = "{two}" }} }}]
"""
    packages = parse_lock(text, {"email-validator"})
    assert [(p.name, p.version, len(p.hashes), p.direct) for p in packages] == [
        ("dnspython", "2.8.0", 2, False),
        ("Email_Validator", "2.3.0", 1, True),
    ]
    assert [(p.uploaded, p.size) for p in packages] == [("2026-11-04T01:00:00+00:00", 400), ("", 0)]
    assert packages[0].hashes == (f"sha256:{one}", f"sha256:{two}")


@pytest.mark.parametrize(
    "text", ["[[packages]\n", "[[packages]]\nname = 'x'\nversion = '1'\n", "packages = 3\n"]
)
def test_a_lock_that_cannot_be_read_is_refused(text: str) -> None:
    with pytest.raises(RequirementsError):
        parse_lock(text, set())


@pytest.mark.parametrize(
    ("machine", "libc", "platform"),
    [
        ("x86_64", "glibc 2.36", "x86_64-manylinux_2_36"),
        ("aarch64", "glibc 2.41", "aarch64-manylinux_2_40"),
        ("x86_64", "glibc 2.30", "x86_64-manylinux_2_28"),
        ("x86_64", "", "x86_64-manylinux_2_17"),
    ],
)
def test_packages_fit_the_image(machine: str, libc: str, platform: str) -> None:
    found = target({"python": [3, 12, 1], "machine": machine, "libc": libc})
    assert (found.python, found.platform) == ("3.12", platform)


def test_the_container_request_grants_nothing_by_default() -> None:
    body = create_body(ContainerSpec(image="i", warden="/w", seccomp="/s", uid=20_007), Limits())
    assert body["netns"] == {"nsmode": "none"}
    assert body["cap_drop"] == ["all"]
    assert body["read_only_filesystem"] and body["no_new_privileges"]
    assert not any("rw" in mount["options"] for mount in body["mounts"])
    assert not body["httpproxy"] and body["unsetenvall"]


@pytest.mark.parametrize(
    "one",
    [
        "pandas", "a", "ruamel.yaml", "email-validator>=2.2", "x[extra1,extra-2] ~= 1.4.2, !=1.4.3",
        "x (>=1)", "x==1.*", "x==1!2.0+local", 'x>=1; python_version < "3.12" and sys_platform != "win32"',
    ],
)  # fmt: skip
def test_plain_requirements_are_accepted(one: str) -> None:
    assert Requirement(plain(one)) == Requirement(one)


@pytest.mark.parametrize(
    "one",
    ["-e .", "--index-url http://x", "-r /etc/hosts", "./x", "/x", "x @ https://y/z.whl", "git+https://x", "x\ny",
     "x --hash=sha256:0", "x>=1 --pre", "https://x/y.whl", "x;-e ./y/z", ""],
)  # fmt: skip
def test_options_paths_and_addresses_are_no_requirements(one: str) -> None:
    with pytest.raises(RequirementsError, match="no plain requirement"):
        plain(one)


@pytest.mark.parametrize("beside", [False, True])
def test_state_of_an_earlier_boot_is_removed(tmp_path: Path, beside: bool) -> None:
    runtime = tmp_path / "run"
    marker = (tmp_path if beside else runtime) / ".boot"

    def forget() -> None:
        forget_an_earlier_boot(
            runtime, marker, lambda path: shutil.rmtree(path) if path.is_dir() else path.unlink()
        )

    pause = runtime / "libpod" / "tmp" / "pause.pid"
    pause.parent.mkdir(parents=True)
    pause.write_text(str(os.getpid()))
    forget()
    assert not pause.exists(), "that number is another program's"
    (runtime / "alive").touch()
    forget()
    assert (runtime / "alive").exists(), "it is the same boot"
    marker.write_text("an earlier one\n")
    forget()
    assert not runtime.exists()
    forget()


def test_the_seccomp_profile_is_the_measured_one_plus_explained_exceptions() -> None:
    from tests.attack.syscalls.profile import KEPT, PROFILE, REFUSED, measured, plain, profile

    assert json.loads(PROFILE.read_text()) == profile()
    kept = [name for names in KEPT.values() for name in names.split()]
    assert len(kept) == len(set(kept)) and not set(kept) & REFUSED.keys()
    assert not plain() & {
        "setsid",
        "io_setup",
        "inotify_init1",
        "memfd_create",
        "unshare",
        "mount",
        "ptrace",
        "bpf",
    }
    assert measured() - plain() <= REFUSED.keys()


@pytest.mark.parametrize("end", ["]" * 201, '"]', '\\"]' * 3, "\\"])
def test_only_brackets_outside_of_texts_are_counted(end: str) -> None:
    quoted = '"' + "[" * 400 + '\\"[\\\\"'
    assert parse(f"[{quoted}]") == ["[" * 400 + '"[\\']
    with pytest.raises(ValueError, match="nested 201 levels"):
        parse("[" * 201 + end)
    with pytest.raises(ValueError, match="nested 201 levels"):
        parse(f"[{quoted}, " + "[" * 200 + end)
    with pytest.raises(ValueError, match="Unterminated|Expecting|Invalid"):
        parse('["' + "[" * 400 + "\\")


def test_a_requirement_stays_on_one_line_whatever_its_marker_quotes() -> None:
    assert "\n" not in plain("attrs; python_version < '3\n-r /etc/hosts'")
