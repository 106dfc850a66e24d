"""For every test: no animations (they move pictures), and no settings of the person who runs them."""

from __future__ import annotations

import os

# Textual reads this when it is imported.
os.environ["TEXTUAL_ANIMATIONS"] = "none"
for name in [name for name in os.environ if name.startswith("ALITA_")]:
    del os.environ[name]
