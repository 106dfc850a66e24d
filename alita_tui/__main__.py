"""The `alita` command."""

from __future__ import annotations

import sys


def main() -> None:
    """Run a command; an error of ours is two lines on stderr and its exit code, never a traceback."""
    from alita_tui.spine.errors import AlitaError
    from alita_tui.spine.text import neutralise

    try:
        if len(sys.argv) == 1:
            # The command tree takes longer than all else until the first paint; here it has no say.
            from alita_tui.cli.console import open_console

            open_console()
        else:
            from alita_tui.cli.app import app

            app()
    except AlitaError as error:
        sys.stderr.write(f"alita: {neutralise(error.message)}\n")
        if error.hint:
            sys.stderr.write(f"       {neutralise(error.hint)}\n")
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        sys.exit(130)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(141)
    finally:
        if (wiring := sys.modules.get("alita_tui.wiring.house")) is not None:
            wiring.close_all()


if __name__ == "__main__":
    main()
