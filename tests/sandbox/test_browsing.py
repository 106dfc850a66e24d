"""The capability `browser`: what it is approved as, what it goes with, and where it is allowed."""

from __future__ import annotations

import json
import time
from pathlib import Path

import h11
import msgspec
import pytest

from alita_tui.events import Capabilities, ToolDraft, ToolName
from alita_tui.runtimes.scratch_files import granted
from alita_tui.sandbox import browsing, image, setup
from alita_tui.sandbox.broker.broker import broker_settings
from alita_tui.sandbox.broker.grants import Caps, Refused, RunGrants
from alita_tui.sandbox.broker.local import LocalEndpoints
from alita_tui.sandbox.engine import PodmanSandbox
from alita_tui.sandbox.host import Host
from alita_tui.sandbox.policy import BROWSER_POLICY, LAUNCHER, ContainerSpec, create_body
from alita_tui.sandbox.settings import EngineSettings
from alita_tui.sandbox.supplies import Files
from alita_tui.spine.address import AddressPolicy
from alita_tui.spine.errors import SandboxUnavailable
from alita_tui.spine.grants import faults, phrases
from alita_tui.spine.ports.sandbox import Job, Limits
from alita_tui.view.risk import draft_risks
from tests.sandbox.loopback import Told

BROWSER = Capabilities(network=("a.example:443",), browser=True)
DIGEST = "be0db621d46a9cb8a453348ff0a44cea36ce6b5d0b136623589958bb4a701a9d"
"""Of the draft below, as it was before there were browsers."""


def test_a_browser_has_its_own_word_phrase_and_risk() -> None:
    assert BROWSER.items == ("network:a.example:443", "browser:chromium")
    assert not BROWSER.without(["browser:chromium"]).browser and BROWSER.without([]).browser
    assert not BROWSER.within(Capabilities(network=BROWSER.network)), "a browser is more than its hosts"
    (_, said) = phrases(BROWSER)
    assert "without a sandbox of its own" in said and "granted hosts alone" in said
    assert "browser" in {risk.name for risk in draft_risks(BROWSER, ())}


def test_tools_without_a_browser_keep_their_digests() -> None:
    draft = ToolDraft(name=ToolName("a_tool"), description="d", code="c", tests="t")
    assert draft.digest == DIGEST
    assert b"browser" not in msgspec.json.encode(draft)
    with_one = msgspec.structs.replace(draft, capabilities=Capabilities(browser=True))
    assert with_one.digest != draft.digest


@pytest.mark.parametrize(
    "more",
    [{"workspace": "read"}, {"model_calls": 1}, {"tools": ("other",)}],
    ids=lambda more: next(iter(more)),
)
def test_other_grants_cannot_be_combined_with_a_browser(more: dict[str, object]) -> None:
    assert any("browser" in fault for fault in faults(msgspec.structs.replace(BROWSER, **more)))
    assert faults(BROWSER) == ()


async def test_endpoints_of_the_broker_are_closed_to_a_run_with_a_browser() -> None:
    """A record may come from elsewhere; a page of the run could send the same request as the tool."""
    wide = msgspec.structs.replace(BROWSER, workspace="write", model_calls=3, tools=("t@1:" + "a" * 12,))

    async def nowhere(host: str, port: int) -> tuple[str, ...]:
        return ()

    job = Job(run_id="r", module="m", code="", capabilities=wide)
    grants = RunGrants(job, Caps(), AddressPolicy(nowhere), {}, Told())

    async def longer(_: float) -> None:
        raise AssertionError

    own = LocalEndpoints(grants, None, None, longer)
    for method, path in (("GET", "/files/a"), ("PUT", "/files/a"), ("POST", "/model"), ("POST", "/tools/t")):
        with pytest.raises(Refused, match="hosts alone"):
            await own.answer(h11, method, path, grants.answered(path))  # type: ignore[arg-type]  # it is never asked


def test_the_tool_gets_the_path_of_its_browser_and_the_broker_as_proxy() -> None:
    async def nowhere(host: str, port: int) -> tuple[str, ...]:
        return ()

    for asked, told in ((Capabilities(browser=True), True), (Capabilities(), False)):
        job = Job(run_id="r", module="m", code="", capabilities=asked)
        settings = json.loads(broker_settings(RunGrants(job, Caps(), AddressPolicy(nowhere), {}, Told()), ""))
        assert ("ALITA_BROWSER" in settings["environment"]) is told
        assert ("http_proxy" in settings["environment"]) is told


def test_only_containers_with_a_browser_mount_launcher_and_policy_read_only() -> None:
    spec = ContainerSpec(image="i", warden="w", seccomp="s", browser=("/host/launch.sh", "/host/policy.json"))
    for one, wanted in ((spec, True), (msgspec.structs.replace(spec, browser=()), False)):
        mounts = {mount["destination"]: mount for mount in create_body(one, Limits())["mounts"]}
        assert (LAUNCHER in mounts) is wanted and (BROWSER_POLICY in mounts) is wanted
        assert create_body(one, Limits())["netns"] == {"nsmode": "none"}
        assert create_body(one, Limits())["seccomp_profile_path"] == "s", "no filter of its own"
    mounts = {mount["destination"]: mount for mount in create_body(spec, Limits())["mounts"]}
    assert "ro" in mounts[LAUNCHER]["options"] and "ro" in mounts[BROWSER_POLICY]["options"]


def test_the_policy_is_json_that_closes_files_and_ways_past_the_proxy() -> None:
    launcher, policy, _ = Files().browser.values()
    rules = json.loads(policy)
    assert rules["URLBlocklist"] == ["file://*"] and rules["QuicAllowed"] is False
    assert rules["WebRtcIPHandling"] == "disable_non_proxied_udp" and rules["NetworkPredictionOptions"] == 2
    last = launcher.decode().partition('"$@"')[2]
    assert "--proxy-server" in last and "--disable-quic" in last, "what a tool asks for cannot replace them"


def test_no_limit_is_lower_with_a_browser() -> None:
    for limits in (Limits(), Limits(wall_seconds=600, memory_bytes=8 << 30, processes=2000)):
        roomy = browsing.with_room(limits)
        assert all(getattr(roomy, name) >= getattr(limits, name) for name in limits.__struct_fields__)
        assert roomy.memory_bytes >= 1 << 30 and roomy.wall_seconds >= 60


def test_tests_of_a_draft_have_the_browser_and_no_other_grant() -> None:
    draft = ToolDraft(name=ToolName("a_tool"), description="d", code="c", tests="t", capabilities=BROWSER)
    assert granted(draft) == {"capabilities": Capabilities(browser=True), "scratch": {}}


def mine(tmp_path: Path, **more: object) -> EngineSettings:
    return msgspec.structs.replace(EngineSettings(cache_dir=str(tmp_path / "cache")), **more)


def test_the_browser_image_is_pulled_imported_or_built_like_the_base_image(tmp_path: Path) -> None:
    found = mine(tmp_path, browser_images=("r/one:1",), browser_tar="/x.tar")
    recipe = image.with_browser(found)
    assert recipe.tag != found.tag and "chromium" in recipe.packages
    ways = [what for what, _, _ in image._ways(Host(found), recipe)]
    assert ways == ["pulling r/one:1", "importing /x.tar", "building from distribution packages"]
    alone = [what for what, _, _ in image._ways(Host(mine(tmp_path)), image.with_browser(mine(tmp_path)))]
    assert alone == ["building from distribution packages"], "no image of others is pulled unasked"


@pytest.mark.parametrize(("days", "state"), [(1, "ok"), (29, "ok"), (45, "warning"), (None, "ok")])
async def test_doctor_reminds_of_an_old_image(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, days: int | None, state: str
) -> None:
    found: dict[str, object] = {"Id": "a" * 64}
    if days is not None:
        found["Created"] = int(time.time()) - days * 86_400

    async def output(*_: object, **__: object) -> str:
        return json.dumps([found])

    host = Host(mine(tmp_path, browser=True))
    monkeypatch.setattr(host, "output", output)
    (check,) = await setup._browser(host)
    assert check.state == state
    if state == "warning":
        assert "45 days old" in check.detail and "alita sandbox rebuild" in check.hint


async def test_nothing_is_started_for_a_browser_that_is_not_allowed(tmp_path: Path) -> None:
    sandbox = PodmanSandbox(mine(tmp_path), "none")
    with pytest.raises(SandboxUnavailable, match="not allowed") as caught:
        await sandbox.lock(["playwright"], lambda *_: None, browser=True)
    assert "sandbox.browser true" in caught.value.hint
    with pytest.raises(SandboxUnavailable, match="not allowed"):
        await sandbox.has_browser()
    with pytest.raises(SandboxUnavailable, match="gVisor"):
        await browsing.present(Host(mine(tmp_path, browser=True, profile="gvisor")))
    with pytest.raises(SandboxUnavailable, match="gVisor"):
        await browsing.ensure(Host(mine(tmp_path, profile="gvisor")), lambda *_: None)
