"""How common words are in requests of any kind; common words say little about what is asked for."""

from __future__ import annotations

FILLER = frozenset(
    """a about above after again against all also am an and any anyone are as at be because been before
    being below between both but by can could did do does doing done down during each every few for
    from further get give given had has have having he her here hers him his how i if in into is it
    its itself just kindly let like make many me more most much must my need needed no nor not now of
    off on once only or other our ours out over own please same say see shall she should show so some
    such take tell than thank thanks that the their theirs them then there these they thing this those
    through to too tool under until up use used using very want was way we were what when where whether
    which while who whom why will with without would write yes you your yours
    calculate compute create find help run work function one two three result return value given""".split()
)
"""Words that carry no intent, among them the verbs of nearly every request."""

_SHARES = {
    0.4: """
        provid specif
    """,
    0.2: """
        assist current detail includ inform know look new recommend user
    """,
    0.11: """
        analyz avail comprehens custom data effect friend game generat high improv interest latest learn list
        onlin option perform plan play product recent search strateg suggest time various websit
    """,
    0.06: """
        a access activ analys base best chang chat check cit code compan content convers creat curious date day
        design develop differ discuss document engag exper explor featur find focus good googl guid h hey idea
        imag import industr insight last locat manag market month offer optim order person platform popular
        potent practic prefer price process project qualit rate regard relat relev request research review right
        set share skill step summar task text top tr track trend understand upcom updat visual well within word
    """,
    0.04: """
        account accur add addit address advic allow app applic articl better blog book bus buy campaign car
        challeng chatbot collect compar complet convert dail display effic email engin enhanc ensur event fetch
        file financ follow food format go guidanc health histor impact increas instruct interact invest japan
        key keyword languag life love made media meet model multipl name news next number organiz overal page
        part particular pdf plugin possibl post present purchas rank read receiv recip record reliabl report
        requir retriev sale save seo servic signific social sourc space start store suitabl system target team
        techniqu technolog tip today topic travel trip type uniqu util ve video week wide year york
    """,
}
"""Stems by the share of the kinds of requests in which they occur, as `tests/benchmarks/fit_ranking.py` counted."""

COMMON: dict[str, float] = {form: share for share, forms in _SHARES.items() for form in forms.split()}
"""How common a stem is in requests, from 0 to 1; one that is not here is not common."""
