"""The MCP servers: a list, and the facts, tools and log of the chosen one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from textual import on, work
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Container, Vertical
from textual.content import Content
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from alita_tui.console.actions import bindings, key_of
from alita_tui.console.messages import CommandAsked
from alita_tui.console.servers.ports import ServerChange, ServerLine, ServersCatalog
from alita_tui.console.servers.rows import details, server_row
from alita_tui.console.widgets.choice_list import ChoiceList
from alita_tui.console.widgets.dialog import Dialog, Stylesheets
from alita_tui.console.widgets.key_line import KeyLine
from alita_tui.console.widgets.plain import Plain
from alita_tui.console.widgets.sheet import Sheet
from alita_tui.spine.commands import RefreshLibrary
from alita_tui.spine.errors import AlitaError
from alita_tui.spine.ports.stream import Clock
from alita_tui.spine.text import counted
from alita_tui.state.servers import SeenServer
from alita_tui.view.model import SessionView

_TWO_COLUMNS = 110
_NONE = " No server yet. To add one, in a shell:\n alita mcp add NAME -- COMMAND"
_WAITS = ("new", "changed", "suspended")


class ServersScreen(Dialog[None]):
    """Drawn with every view: events report what happens to a server."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("servers")
    CSS_PATH: ClassVar[Stylesheets] = ["../widgets/dialog.tcss", "screen.tcss"]

    def __init__(
        self,
        view: SessionView,
        catalog: ServersCatalog,
        keys: Mapping[str, str],
        clock: Clock,
        *,
        may_change: bool = True,
    ) -> None:
        """Without `may_change`, while the past is on screen, the servers are only looked at."""
        super().__init__()
        self._view = view
        self._catalog = catalog
        self._keys = keys
        self._clock = clock
        self._may_change = may_change
        self._servers: tuple[ServerLine, ...] | None = None
        self._asked = ""
        """The server that is removed when the key is pressed again."""
        self._busy = False

    def compose(self) -> ComposeResult:
        """List, details and keys."""
        with Vertical(id="box"):
            yield Plain(id="head")
            with Container(id="both"):
                yield ChoiceList()
                yield Sheet(id="detail")
            yield KeyLine(id="said")

    def on_mount(self) -> None:
        """Read the servers."""
        self.query_one(ChoiceList).focus()
        self._hint()
        self.action_look()

    def on_resize(self) -> None:
        """Draw for the new width."""
        self.query_one("#both").set_class(self.query_one("#box").size.width >= _TWO_COLUMNS, "-wide")
        self.call_after_refresh(self._fill)

    def advance(self, view: SessionView) -> None:
        """Draw a newer view; what a session did with a server may have suspended tools of it."""
        previous, self._view = self._view.state.servers, view
        if view.state.servers is not previous:
            self.action_look()

    @work(name="servers", group="servers", exclusive=True, exit_on_error=False)
    async def action_look(self) -> None:
        """Read the servers again."""
        try:
            self._servers = await self._catalog.servers()
        except AlitaError as error:
            self.say(str(error), bad=True)
            return
        self._fill()

    # --- drawing ----------------------------------------------------------------------------

    def _fill(self) -> None:
        if self._servers is None:
            return
        listed = self.query_one(ChoiceList)
        width = max(listed.size.width - 2, 40)
        options = [
            Option(server_row(server, self._seen(server.name), width), id=server.name)
            for server in self._servers
        ]
        listed.fill(options, _NONE)
        tools = [tool for server in self._servers for tool in server.tools]
        approved = sum(tool.state == "approved" for tool in tools)
        summary = f"  {counted(len(options), 'server')}, {approved} of {counted(len(tools), 'tool')} approved"
        self.query_one("#head", Plain).update(Content.assemble(("MCP servers", "bold $accent"), summary))
        self._about()

    def _seen(self, name: str) -> SeenServer | None:
        return next((server for server in self._view.state.servers if server.name == name), None)

    @property
    def _chosen(self) -> ServerLine | None:
        name = self.query_one(ChoiceList).chosen_id
        return next((server for server in self._servers or () if server.name == name), None)

    @on(OptionList.OptionHighlighted)
    def _moved(self) -> None:
        if self._asked and self._asked != self.query_one(ChoiceList).chosen_id:
            self._asked = ""
            self._hint()
        self._about()

    def _about(self) -> None:
        server, sheet = self._chosen, self.query_one("#detail", Sheet)
        approve = f"{key_of('servers.approve', self._keys)} shows the next one whole"
        seen = self._seen(server.name) if server is not None else None
        sheet.show(details(server, seen, self._clock(), approve) if server is not None else [])

    def _hint(self) -> None:
        actions = {"look": "refreshes"}
        if self._may_change:
            actions = {
                "approve": "approves…",
                "test": "tests",
                "switch": "on / off",
                **actions,
                "remove": "removes",
            }
        words = [
            Content(f"{key_of(f'servers.{name}', self._keys)} {label}") for name, label in actions.items()
        ]
        line = self.query_one("#said", KeyLine)
        line.set_class(False, "-bad")
        line.show((*words, Content("Esc closes")), " · ")

    # --- doing --------------------------------------------------------------------------------

    @property
    def _changeable(self) -> ServerLine | None:
        if not self._may_change:
            self.say("This is a recording: the servers are only looked at here.")
            return None
        if self._busy:
            self.say("Wait: the last thing is not done yet.")
            return None
        return self._chosen

    def action_test(self) -> None:
        """Start the chosen server and list its tools anew."""
        if (server := self._changeable) is not None:
            self._do("test", server.name, f"{server.name} is started …")

    def action_switch(self) -> None:
        """Let the chosen server's tools be used, or not."""
        if (server := self._changeable) is not None:
            self._do("disable" if server.enabled else "enable", server.name)

    def action_remove(self) -> None:
        """Remove the chosen server, when asked for twice."""
        if (server := self._changeable) is None:
            return
        if self._asked == server.name:
            self._asked = ""
            self._do("remove", server.name)
            return
        self._asked = server.name
        tools = counted(sum(tool.state == "approved" for tool in server.tools), "tool")
        key = key_of("servers.remove", self._keys)
        self.say(f"{key} again removes {server.name} and archives {tools} of it.", bad=True)

    def action_approve(self) -> None:
        """Open the next waiting tool, where it can be approved."""
        if (server := self._changeable) is None:
            return
        tool = next(
            (candidate for candidate in server.tools if candidate.state in _WAITS and not candidate.problem),
            None,
        )
        if tool is None:
            self.say("No tool of it waits to be approved.")
        else:
            self._show(server.name, tool.name)

    @work(name="show a server's tool", group="server", exclusive=True, exit_on_error=False)
    async def _show(self, server: str, tool: str) -> None:
        from alita_tui.console.servers.approving import ToolApproval

        try:
            details = await self._catalog.server_tool(server, tool)
        except AlitaError as error:
            self.say(f"{error} {error.hint}", bad=True)
            return
        if self.is_current:
            self.app.push_screen(ToolApproval(details, self._catalog, self.approved))

    def approved(self, message: str) -> None:
        """Report that a tool was approved, and read the servers again."""
        self.say(message)
        self.action_look()

    @work(name="change server", group="server", exit_on_error=False)
    async def _do(self, change: ServerChange, name: str, meanwhile: str = "") -> None:
        self._busy = True
        if meanwhile:
            self.say(meanwhile)
        try:
            message = await self._catalog.change_server(change, name)
        except AlitaError as error:
            self.say(f"{error} {error.hint}", bad=True)
            return
        finally:
            self._busy = False
        if change == "remove":
            self.post_message(CommandAsked(RefreshLibrary()))
        self.say(message)
        self.action_look()
