"""The actions of sessions and replays."""

from __future__ import annotations

from alita_tui.console.action import Action

SESSIONS: tuple[Action, ...] = (
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
)

REPLAY: tuple[Action, ...] = (
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
