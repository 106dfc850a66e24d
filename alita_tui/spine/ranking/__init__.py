"""Ranking of texts by a query."""

from alita_tui.spine.ranking.bands import Band as Band
from alita_tui.spine.ranking.bands import Calibration as Calibration
from alita_tui.spine.ranking.bands import band as band
from alita_tui.spine.ranking.bands import calibrated as calibrated
from alita_tui.spine.ranking.bands import prior as prior
from alita_tui.spine.ranking.ranker import Ranked as Ranked
from alita_tui.spine.ranking.ranker import Ranker as Ranker
from alita_tui.spine.ranking.ranker import Served as Served
from alita_tui.spine.ranking.terms import stem as stem
from alita_tui.spine.ranking.terms import words as words
