"""Ranking of texts by a query."""

from alita_tui.spine.ranking.calibration import Band as Band
from alita_tui.spine.ranking.calibration import Calibration as Calibration
from alita_tui.spine.ranking.calibration import band as band
from alita_tui.spine.ranking.calibration import calibrated as calibrated
from alita_tui.spine.ranking.calibration import prior as prior
from alita_tui.spine.ranking.ranker import Ranked as Ranked
from alita_tui.spine.ranking.ranker import Ranker as Ranker
from alita_tui.spine.ranking.ranker import Served as Served
from alita_tui.spine.ranking.terms import stem as stem
from alita_tui.spine.ranking.terms import words as words
