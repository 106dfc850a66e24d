"""The `alita` command."""

from __future__ import annotations

import os
import sys


def main() -> None:
    """Run a command. An expected error is two lines on stderr and an exit code, never a traceback."""
    from alita_tui.spine.errors import AlitaError
    from alita_tui.spine.text import neutralise

    try:
        if len(sys.argv) == 1 and os.environ.get("ACCESSIBLE", "") in ("", "0"):
            # The console's first paint does not wait for the import of the commands.
            from alita_tui.app.console import open_console

            open_console()
        else:
            from alita_tui.cli.main import cli

            cli()
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
        if (context := sys.modules.get("alita_tui.app.context")) is not None:
            context.close_all()


if __name__ == "__main__":
    main()
