"""The table of actions, from which bindings, palette, help, keymap and docs are made."""

from __future__ import annotations

import msgspec


class Action(msgspec.Struct, frozen=True):
    """Something a person can do, and its key."""

    id: str
    """`owner.name`; the owner is the screen or widget that has the binding."""
    key: str
    """Textual key names, separated by commas."""
    run: str
    """Textual action to run on the owner, with its parameters."""
    label: str
    tooltip: str
    palette: str = ""
    """Name in the command palette, as `group: verb`; empty to leave it out."""
    live: bool = True
    """Available in a live session."""
    replay: bool = True
    """Available in a replay."""
    priority: bool = False
    """Works whatever has focus."""

    @property
    def owner(self) -> str:
        """Return the first part of the id."""
        return self.id.partition(".")[0]


GROUPS = {
    "app": "Everywhere",
    "session": "Session",
    "composer": "Composer",
    "pane": "Any pane",
    "trace": "Trace",
    "file": "File",
    "file_pane": "In a file",
    "library": "Library",
    "sessions": "Sessions",
    "compare": "Two sessions",
    "tool": "Tool",
    "spend": "Money and models",
    "statistics": "Statistics",
    "tasks": "Tasks",
    "context": "Next call",
    "memory": "Memory",
    "servers": "MCP servers",
    "server_tool": "Tool of a server",
    "settings": "Settings",
    "sandbox": "Sandbox",
    "approval": "Review of a build",
    "replay": "Replay",
}
"""Owner → heading in the help, in the order shown."""

ACTIONS: tuple[Action, ...] = (
    # Everywhere
    Action("app.help", "f1", "help", "Help", "Every key, for what is on screen", "view: help"),
    Action(
        "app.palette",
        "ctrl+p",
        "command_palette",
        "Commands",
        "Find any command by name",
        priority=True,
    ),
    Action(
        "app.sessions",
        "f5",
        "sessions",
        "Sessions",
        "All sessions: open, search, compare, tidy up",
        "session: open, search, compare…",
    ),
    Action(
        "app.rewind",
        "ctrl+r",
        "rewind",
        "Go back",
        "Go back in this session while it goes on",
        "session: go back in time",
        replay=False,
        priority=True,
    ),
    Action(
        "app.new_session",
        "ctrl+n",
        "new_session",
        "New session",
        "Leave this session saved and begin another",
        "session: new",
    ),
    Action(
        "app.tasks",
        "ctrl+k",
        "tasks",
        "Tasks",
        "The running task, those that wait and the queue: move, edit, cancel, pause",
        "session: tasks and queue",
        priority=True,
    ),
    Action(
        "app.spend",
        "ctrl+o",
        "spend",
        "Money and models",
        "Costs, and which models work",
        "view: money and models",
        priority=True,
    ),
    Action(
        "app.context",
        "shift+f2",
        "context",
        "Next call",
        "What the next call would send, by part, with tokens; switch blocks off and on",
        "view: what the next call would send",
        replay=False,
        priority=True,
    ),
    Action(
        "app.memory",
        "shift+f4",
        "memory",
        "Memory",
        "What is remembered, where it comes from; correct, pin and forget it",
        "view: what is remembered",
        priority=True,
    ),
    Action(
        "app.servers",
        "shift+f5",
        "servers",
        "Servers",
        "MCP servers whose tools are used: state, tools, log; test, switch off, remove",
        "view: MCP servers",
        priority=True,
    ),
    Action(
        "app.statistics",
        "shift+f9",
        "statistics",
        "Statistics",
        "Where money and time go in all sessions, what stands out, what would help",
        "view: statistics of all sessions",
        priority=True,
    ),
    Action(
        "app.settings",
        "ctrl+g",
        "settings",
        "Settings",
        "Every setting, where it comes from, and changing it",
        "settings: change…",
        priority=True,
    ),
    Action(
        "app.setup",
        "f12",
        "setup",
        "Set-up",
        "Choose provider, model and key, with a test call",
        "settings: set-up of the model…",
        replay=False,
        priority=True,
    ),
    Action(
        "app.sandbox",
        "ctrl+s",
        "sandbox",
        "Sandbox",
        "Containers, pool, environments, what holds each limit, and the last runs",
        "view: containers, limits and runs",
        priority=True,
    ),
    Action(
        "app.theme",
        "f6",
        "theme",
        "Theme",
        "Choose a theme, with live preview",
        "theme: choose…",
        priority=True,  # a text area would take the key
    ),
    Action(
        "app.review",
        "f8",
        "review",
        "Review",
        "Review the build that waits for a verdict",
        "tool: review waiting build",
        replay=False,
        priority=True,
    ),
    Action(
        "app.ladder",
        "ctrl+c",
        "ladder",
        "Copy / interrupt / clear / quit",
        "Copies a selection; else interrupts; else clears the composer; twice within a second quits",
        priority=True,
    ),
    Action(
        "app.quit", "ctrl+q", "quit", "Quit", "Quit; the session is saved", "session: quit", priority=True
    ),
    # Session
    Action("session.trace", "f2", "pane('trace')", "Trace", "Go to the trace", "view: trace"),
    Action("session.library", "f3", "pane('library')", "Library", "Go to the tools", "view: library"),
    Action("session.sandbox", "f4", "pane('sandbox')", "Sandbox", "Go to the sandbox", "view: sandbox"),
    Action("session.side", "f9", "side", "Side panes", "Show or hide the side panes", "view: side panes"),
    Action(
        "session.plan",
        "f7",
        "plan",
        "Plan",
        "Open or fold the plan",
        "view: plan",
        priority=True,  # as above
    ),
    Action(
        "session.edit_plan",
        "shift+f7",
        "edit_plan",
        "Change the plan",
        "Put the running task's plan into the composer, to change and send it",
        "session: change the plan",
        replay=False,
        priority=True,
    ),
    Action(
        "session.retry",
        "ctrl+l",
        "retry",
        "Try again",
        "Try the last task again, which failed or stopped at a limit",
        "session: try the last task again",
        replay=False,
    ),
    Action(
        "session.find", "ctrl+f", "find", "Find", "Search the trace", "view: search the trace", priority=True
    ),
    Action(
        "session.escape",
        "escape",
        "escape",
        "Interrupt / back",
        "Interrupts the running task when the composer is empty; elsewhere goes back to the composer",
    ),
    Action(
        "session.interrupt",
        "f10",
        "interrupt",
        "Interrupt",
        "Stop the running task and keep what there is",
        "session: interrupt",
        replay=False,
    ),
    # Composer
    Action("composer.send", "enter", "send", "Send", "Send a task; while one runs, steer it", replay=False),
    Action(
        "composer.next",
        "ctrl+t,ctrl+enter",
        "send_next",
        "Queue",
        "Send as the next task, behind the running one",
        replay=False,
    ),
    Action(
        "composer.complete",
        "tab",
        "complete",
        "Complete a file",
        "Complete the path of a file behind an @; elsewhere go to the next part",
        replay=False,
    ),
    Action("composer.newline", "shift+enter,ctrl+j", "newline", "New line", "Begin a new line", replay=False),
    Action(
        "composer.earlier", "up", "earlier", "Earlier", "In the first line: the entry before", replay=False
    ),
    Action("composer.later", "down", "later", "Later", "In the last line: the entry after", replay=False),
    # Any pane
    Action("pane.up", "up,k", "up", "Up", "One row up"),
    Action("pane.down", "down,j", "down", "Down", "One row down"),
    Action("pane.page_up", "pageup,ctrl+b", "page(-1)", "Page up", "One page up"),
    Action("pane.page_down", "pagedown", "page(1)", "Page down", "One page down"),
    Action("pane.first", "home,g", "first", "First", "To the first row"),
    Action("pane.last", "end,G,shift+g", "last", "Last", "To the last row, and follow what comes"),
    Action("pane.open", "enter,space", "open", "Open", "Open or close the row; of a file, look into it"),
    Action("pane.yank", "y", "yank", "Copy", "Copy the row's text"),
    Action("pane.find", "slash", "find", "Find", "Search in this pane"),
    Action("pane.find_next", "n", "find_next(1)", "Next hit", "To the next hit"),
    Action("pane.find_previous", "N,shift+n", "find_next(-1)", "Previous hit", "To the hit before"),
    Action("pane.help", "question_mark", "app.help", "Help", "Every key"),
    Action(
        "trace.explain",
        "question_mark,w",
        "explain",
        "Explain",
        "Why this row, what it changed, what it cost",
    ),
    Action(
        "trace.level",
        "d",
        "level",
        "Detail",
        "Answers only, steps as well, or everything; remembered",
        "view: answers, steps or everything",
    ),
    Action("trace.wider", "right_curly_bracket", "divide(-4)", "Wider", "Make the trace wider"),
    Action("trace.narrower", "left_curly_bracket", "divide(4)", "Narrower", "Make the trace narrower"),
    Action("file.back", "escape,q", "back", "Back", "Back to the session"),
    Action("file.save", "s", "take('save')", "Save", "Save the file in the current folder"),
    Action("file.open", "o", "take('open')", "Open", "Open the file with its program"),
    Action("file.way", "v", "way", "View", "The next way to show it, such as text or bytes"),
    Action("file.go", "colon", "ask_number", "Go to", "Go to a line or row by its number"),
    Action("file_pane.left", "left,h", "aside(-1)", "Left", "The column before; long lines to the left"),
    Action("file_pane.right", "right,l", "aside(1)", "Right", "The column after; long lines to the right"),
    Action("trace.save_file", "s", "file('save')", "Save", "Save the file of this row in the current folder"),
    Action("trace.open_file", "o", "file('open')", "Open file", "Open the file of this row with its program"),
    Action("trace.good", "plus", "rate('up')", "Good", "👍 for the answer or run of this row", replay=False),
    Action(
        "trace.bad",
        "minus",
        "rate('down')",
        "Not good",
        "👎 for the answer or run of this row; you may say what is wrong",
        replay=False,
    ),
    Action(
        "trace.should_be",
        "equals_sign",
        "rate('should_be')",
        "It should be",
        "Write what the answer or result of this row should be; it counts as 👎",
        replay=False,
    ),
    Action(
        "trace.unrate", "u", "rate('undo')", "Take back", "Take back what you said of this row", replay=False
    ),
    Action(
        "trace.rewind", "left", "rewind", "Go back here", "See everything as it was at this row", replay=False
    ),
    # Sessions
    Action("sessions.find", "slash", "find", "Search", "Search titles, tags and all that was said"),
    Action("sessions.view", "v", "view", "Look", "Look at it as it was; nothing runs"),
    Action("sessions.rename", "r", "rename", "Rename", "Give it another title"),
    Action("sessions.tag", "t", "tag", "Tags", "Write its tags"),
    Action("sessions.archive", "a", "archive", "Archive", "Out of the list, or back into it"),
    Action("sessions.archived", "A,shift+a", "archived", "Archived", "Show the archived ones, too"),
    Action("sessions.delete", "d", "delete", "Delete", "Delete it; u brings it back"),
    Action("sessions.undo", "u", "undo", "Undo", "Take the last change back"),
    Action("sessions.mark", "m,space", "mark", "Mark", "Mark it for comparing"),
    Action("sessions.compare", "c", "compare", "Compare", "Side by side with the marked one, or its parent"),
    Action("sessions.back", "escape", "back", "Back", "Back to the list, then to the session"),
    Action("compare.back", "escape,q", "back", "Back", "Back to the sessions"),
    Action("statistics.shorter", "left", "period(-1)", "Shorter", "A shorter period"),
    Action("statistics.longer", "right", "period(1)", "Longer", "A longer period, up to everything"),
    Action("statistics.tool", "t", "by('tool')", "By tool", "The table by tool"),
    Action("statistics.model", "m", "by('model')", "By model", "The table by model"),
    Action("statistics.role", "r", "by('role')", "By role", "The table by role"),
    Action("statistics.kind", "k", "by('kind')", "By failure", "The table by kind of failure"),
    Action("statistics.day", "d", "by('day')", "By day", "The table by day"),
    Action("statistics.sort", "s", "sort", "Sort", "Sort by the next column"),
    Action(
        "statistics.act",
        "a",
        "act",
        "Act",
        "Act on the advice at the cursor: open the tool, or copy the command",
    ),
    Action("statistics.export", "e", "export", "Export", "Write the table as CSV into the current folder"),
    Action("statistics.back", "escape,q", "back", "Back", "Back to the table, then to the session"),
    Action("spend.back", "escape,q", "back", "Back", "Back to the session"),
    Action("spend.enable", "e", "enable", "Ask again", "Ask the models again that are off", replay=False),
    Action("tasks.up", "u", "move(-1)", "Sooner", "Do the queued task one place sooner", replay=False),
    Action("tasks.down", "d", "move(1)", "Later", "Do the queued task one place later", replay=False),
    Action("tasks.edit", "e", "edit", "Edit", "Change what the queued task asks for", replay=False),
    Action(
        "tasks.cancel", "x", "cancel", "Cancel", "Cancel the queued task, stop the running one", replay=False
    ),
    Action("tasks.retry", "r", "retry", "Try again", "Queue it again: it failed or stopped", replay=False),
    Action("tasks.pause", "p", "pause", "Pause", "Begin no further task, or go on", replay=False),
    Action("tasks.back", "escape,q", "back", "Back", "Back to the session"),
    Action(
        "context.switch",
        "space",
        "switch",
        "Switch",
        "Switch the block off or on for this session",
        replay=False,
    ),
    Action("context.back", "escape,q", "back", "Back", "Back to the session", replay=False),
    Action("memory.find", "slash", "find", "Filter", "Narrow the list by words, or by what it is"),
    Action("memory.open", "enter", "open", "Source", "Look at the event that it was learned from"),
    Action("memory.everything", "a", "everything", "All", "Also other projects, and what holds no longer"),
    Action("memory.pin", "p", "pin", "Pin", "Keep it from ageing, or no longer"),
    Action("memory.edit", "e", "edit", "Edit", "Correct it in your own words"),
    Action("memory.share", "s", "share", "Share", "Let it belong to all projects, or to this one"),
    Action("memory.forget", "d", "forget", "Forget", "Forget it everywhere, for good; u brings it back"),
    Action(
        "memory.tool",
        "t",
        "tool",
        "One tool",
        "Have a recipe that worked three times built as one tool, for your verdict",
    ),
    Action("memory.undo", "u", "undo", "Undo", "Bring back what was forgotten last"),
    Action("memory.back", "escape", "back", "Back", "Back to the list, then to the session"),
    Action("servers.test", "t", "test", "Test", "Start it and list its tools anew", replay=False),
    Action(
        "servers.switch", "e", "switch", "On / off", "Let its approved tools be used, or not", replay=False
    ),
    Action(
        "servers.approve",
        "a",
        "approve",
        "Approve…",
        "Show the next tool that waits whole, and approve it there",
        replay=False,
    ),
    Action(
        "servers.remove",
        "d",
        "remove",
        "Remove",
        "Forget it and archive its tools; asks once more",
        replay=False,
    ),
    Action("servers.look", "r", "look", "Refresh", "Look again"),
    Action("servers.back", "escape,q", "back", "Back", "Back to the session"),
    Action("server_tool.approve", "a", "approve", "Approve", "Approve exactly what is shown", replay=False),
    Action("server_tool.back", "escape", "back", "Back", "Approve nothing; back to the servers"),
    Action("settings.find", "slash", "filter", "Filter", "Narrow the list"),
    Action("settings.back", "escape", "back", "Back", "Back to the list, then to the session"),
    Action("sandbox.back", "escape,q", "back", "Back", "Back to the session"),
    Action("sandbox.look", "r", "look", "Refresh", "Look again", replay=False),
    Action(
        "sandbox.reap",
        "x",
        "reap",
        "Clear up",
        "Remove the containers and folders that dead sessions left",
        replay=False,
    ),
    Action(
        "sandbox.rebuild",
        "b",
        "rebuild",
        "Rebuild",
        "Make the base image anew",
        replay=False,
    ),
    Action("sandbox.confirm", "y", "confirm", "Yes", "Yes, make the base image anew", replay=False),
    Action("tool.back", "escape", "back", "Back", "Back to the session"),
    Action("tool.older", "left_square_bracket", "version(-1)", "Older", "The version before"),
    Action("tool.newer", "right_square_bracket", "version(1)", "Newer", "The version after"),
    Action(
        "tool.rollback",
        "b",
        "move('rollback')",
        "Back a version",
        "Archive this version and run the one before",
    ),
    Action("tool.archive", "a", "move('archive')", "Archive", "Put this version away"),
    Action("tool.quarantine", "z", "move('quarantine')", "Quarantine", "Block this version for now"),
    Action("tool.revoke", "x", "move('revoke')", "Revoke", "Take the approval of this version back"),
    Action(
        "tool.restore", "s", "move('restore')", "Restore", "Let this version run again, as it was approved"
    ),
    Action("tool.pin", "p", "move('pin')", "Pin", "Pin or unpin this version"),
    Action("tool.undo", "u", "move('undo')", "Undo", "Take back what was last done with this tool"),
    Action("tool.yank", "y", "yank", "Copy", "Copy the code"),
    # Review of a build
    Action("approval.approve", "a", "approve", "Approve", "Approve this code"),
    Action(
        "approval.lend",
        "o",
        "lend",
        "Approve for this task",
        "Approve for this task only",
    ),
    Action("approval.reject", "r", "reject", "Reject", "Reject, with a reason for the agent"),
    Action(
        "approval.reuse",
        "u",
        "reuse",
        "Reuse",
        "Reject: have the agent use the tool that gives the same answers; asks for the key twice",
    ),
    Action(
        "approval.merge",
        "m",
        "merge",
        "Merge",
        "Reject: have the tool that gives the same answers built anew to do both; asks for the key twice",
    ),
    Action(
        "approval.alias",
        "l",
        "alias",
        "Alias",
        "Add nothing: let its name be another one of the tool that gives the same answers; asks for the key twice",
    ),
    Action("approval.edit", "e", "edit", "Edit", "Edit in your editor; it is tested and asked again"),
    Action(
        "approval.retest",
        "t",
        "retest",
        "Test again",
        "Run its tests again with what would be granted; asks for the key twice",
    ),
    Action("approval.ban", "b", "ban", "Ban", "Reject, and never be asked again for what you tick"),
    Action(
        "approval.stop",
        "x",
        "stop",
        "Stop the run",
        "Decide against it and stop the run; asks for the key twice",
    ),
    Action("approval.grants", "c", "grants", "Grants", "Grant less than it asks for"),
    Action(
        "approval.side_by_side", "v", "side_by_side", "Split", "The diff side by side, or below each other"
    ),
    Action("approval.diff", "d", "diff", "Diff", "Show what differs from the parent"),
    Action("approval.next", "n", "next", "Next", "The next waiting build"),
    Action("approval.previous", "p", "previous", "Previous", "The waiting build before"),
    Action(
        "approval.defer",
        "escape",
        "defer",
        "Later",
        "Decide later; the build keeps waiting, the agent goes on without it",
    ),
    Action(
        "approval.full", "f", "full", "Full screen", "The review over the whole screen, or beside the trace"
    ),
    Action("approval.log", "s", "log", "Log", "The full test log"),
    Action(
        "approval.tab_back",
        "left_square_bracket",
        "tab(-1)",
        "Part before",
        "Why, code, tests, sandbox, risk",
    ),
    Action(
        "approval.tab_on", "right_square_bracket", "tab(1)", "Next part", "Why, code, tests, sandbox, risk"
    ),
    # Replay
    Action("replay.find", "slash", "find", "Find", "Search what was said and done", live=False),
    Action("replay.find_next", "n", "find_next(1)", "Next hit", "To the next hit", live=False),
    Action(
        "replay.find_previous", "N,shift+n", "find_next(-1)", "Previous hit", "To the hit before", live=False
    ),
    Action("replay.quit", "q", "leave", "Leave", "Leave the replay", live=False),
    Action("replay.toggle", "space", "play", "Play / pause", "Play or pause", live=False),
    Action("replay.back", "left", "back", "Back", "One event back", live=False),
    Action("replay.forward", "right", "forward", "Forward", "One event on", live=False),
    Action("replay.step_back", "shift+left", "step_back", "Step back", "One step back", live=False),
    Action("replay.step_forward", "shift+right", "step_forward", "Step on", "One step on", live=False),
    Action(
        "replay.mark_back",
        "left_square_bracket",
        "mark_back",
        "Mark before",
        "To the mark before",
        live=False,
    ),
    Action(
        "replay.mark_forward",
        "right_square_bracket",
        "mark_forward",
        "Next mark",
        "To the next mark",
        live=False,
    ),
    Action("replay.slower", "minus", "slower", "Slower", "Half the speed", live=False),
    Action("replay.faster", "plus,equals_sign", "faster", "Faster", "Twice the speed", live=False),
    Action("replay.first", "home", "first", "Beginning", "To the beginning", live=False),
    Action("replay.last", "end", "last", "End", "To the end; of a running session, back to it", live=False),
    Action(
        "replay.break",
        "b",
        "stop_at",
        "Stop at",
        "Stop playing at error, approval, tool=NAME or cost>X",
        live=False,
    ),
    Action(
        "replay.break_back",
        "less_than_sign",
        "move_break(-1)",
        "Stop before",
        "To where such a stop was before",
        live=False,
    ),
    Action(
        "replay.break_forward",
        "greater_than_sign",
        "move_break(1)",
        "Next stop",
        "To where the next such stop is",
        live=False,
    ),
    Action("replay.bookmark", "m", "bookmark", "Bookmark", "Set a bookmark here, with a note", live=False),
    Action("replay.unmark", "M,shift+m", "unmark", "No bookmark", "Take the bookmark away", live=False),
    Action(
        "replay.next_bookmark",
        "apostrophe",
        "next_bookmark",
        "Next bookmark",
        "To the next bookmark, around the end",
        live=False,
    ),
    Action(
        "replay.explain", "question_mark", "explain", "Explain", "Why, what changed, what it cost", live=False
    ),
    Action("replay.fork", "f", "fork", "Fork", "Begin a session that goes its own way from here", live=False),
    Action(
        "replay.export",
        "e",
        "export",
        "Export",
        "Write the session into a file without its secrets",
        live=False,
    ),
    *(
        Action(f"replay.seek_{n}", str(n), f"seek({n})", f"{n}0 %", f"To {n}0 % of the session", live=False)
        for n in range(10)
    ),
)
