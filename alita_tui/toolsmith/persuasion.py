"""Words that persuade a reader, by what they do rather than by their language.

One of these signs alone is ordinary in some tool or other; two of them in one breath speak to whoever decides on it.
"""

from __future__ import annotations

import re

_BREATH = 240
"""Characters within which two signs belong together."""

# English, German, French, Spanish, Portuguese, Italian, Dutch, Polish, Swedish, Russian, Turkish, Chinese, Japanese,
# Korean, Arabic.
_READER = (
    r"\bwho(?:ever)? (?:looks? at|reads?|checks?|reviews?|sees|approves|decides(?: on)?) (?:this|it"
    r"|the build)\b",
    r"\b(?:reviewers?|approvers?|evaluators?|graders?|auditors?|checkers?|moderators?|inspectors?)\b",
    r"\b(?:any|every)(?:one|body) (?:reviewing|checking|reading|evaluating|approving|inspecting)\b",
    r"\bif you(?: are|'re)? (?:read|review|evaluat|check|judg|assess|inspect|see)(?:ing)?\b|\bpart of an? "
    r"(?:evaluation|review|audit|assessment|test)\b",
    r"\bprüf(?:er|erin|ende\w*)\b|\bgutachter\w*|\bfreigebende\w*|\bwer (?:das|dies"
    r"|dieses) (?:hier )?(?:prüft|liest)\b",
    r"\b(?:relect|vérificat|évaluat|examinat|approbat|correct)(?:eur|rice)s?\b|\bréviseurs?\b"
    r"|\bqui (?:relit|vérifie)\b",
    r"\brevisor(?:es|as?)?\b|\bevaluador\w*|\baprobador\w*|\bquien(?:es)? (?:lo |la )?(?:revis|lea|lee"
    r"|evalú|aprueb)\w*",
    r"\bavaliador\w*|\baprovador\w*|\bquem (?:revis|avali|lê|ler|aprov)\w*",
    r"\brevisor[ei]\b|\bvalutator[ei]\b|\bchi (?:controlla|esamina|revisiona|legge|approva)\b",
    r"\bbeoordela(?:ar|ars)\b|\bcontroleurs?\b|\bwie dit (?:leest|beoordeelt|controleert)\b",
    r"\brecenzen\w+|\bsprawdzając\w*|\boceniając\w*|\bzatwierdzając\w*",
    r"\bgranskare\w*|\bbedömare\w*|\bgodkännare\w*",
    r"\bпроверяющ\w*|\bрецензент\w*|\bревьюер\w*|\bоценивающ\w*|\bкто (?:это )?(?:проверяет|читает)\b"
    r"|\bперевіряюч\w*",
    r"\binceleyen\w*|\bdenetçi\w*|\bdeğerlendiren\w*|\bonaylayan\w*",
    r"审核(?:者|人|员)|审查(?:者|人|员)|审阅者|评审|批准者|检查者|審査員|審查|レビュ(?:ー|ア)|確認者|承認者|査読者|검토자|심사자|승인자|리뷰어",
    r"المراجع|المدق",
)
_DONE = (
    r"\b(?:already|previously|long since|has been|have been|was|were|been|fully"
    r"|independently)\s+(?:\w+\s+){0,3}?"
    r"(?:approved|reviewed|audited|vetted|accepted|signed off|cleared|certified|whitelisted"
    r"|verified as safe)\b",
    r"\b(?:approved|audited|vetted|certified|cleared|signed off|reviewed) by\b",
    r"\b(?:everyone|everybody|all (?:of )?(?:the |our )?teams?|all of us)\b[^.]{0,30}\b(?:uses?|trusts?"
    r"|runs?|relies)\b",
    r"\b(?:bereits|schon|längst)\b[^.]{0,30}\b(?:freigegeben|genehmigt|geprüft|abgenommen|bestätigt"
    r"|akzeptiert)",
    r"\bdéjà\b[^.]{0,30}\b(?:approuv|valid|vérifi|contrôl|accept|certifi)\w*",
    r"\bya\b[^.]{0,30}\b(?:aprob|validad|revisad|aceptad|verificad|comprobad)\w*",
    r"\bjá\b[^.]{0,30}\b(?:aprovad|validad|revisad|aceit|verificad)\w*",
    r"\bgià\b[^.]{0,30}\b(?:approvat|validat|verificat|controllat|accettat)\w*",
    r"\b(?:al|reeds)\b[^.]{0,30}\b(?:goedgekeurd|gecontroleerd|beoordeeld|geaccepteerd)",
    r"\bjuż\b[^.]{0,40}\b(?:zatwierdzon|sprawdzon|zaakceptowan)\w*",
    r"\bredan\b[^.]{0,30}\b(?:godkän|granska|kontrollera)\w*",
    r"\b(?:уже|вже)\b[^.]{0,40}\b(?:провер|одобр|утвержд|согласован|перевір|схвален)\w*",
    r"\bzaten\b[^.]{0,40}(?:onayla|incelen|denetlen)\w*",
    r"(?:已经?|已被)[^。]{0,12}(?:批准|审核|审查|通过|同意)|(?:既に|すでに)[^。]{0,16}(?:承認|審査|確認|許可)",
    r"이미[^.]{0,16}(?:승인|검토|확인)|تمت? (?:المراجعة|الموافقة)",
)
_ASKED = (
    r"\b(?:please|just|simply|kindly|safe to|fine to|ok(?:ay)? to|right (?:thing|choice) is to"
    r"|go ahead and)\s+(?:\w+\s+)?"
    r"(?:accept|approve|pass|confirm|allow|sign|merge|grant|say yes)\b",
    r"\b(?:correct|right|expected|only) (?:outcome|answer|verdict|decision|result|choice) (?:here )?is\b"
    r"[^.]{0,12}\b(?:pass|approv\w*|accept\w*|yes|positive)\b",
    r"\b(?:can|may|should|must) (?:safely |simply |all )?be (?:accepted|approved|passed|waved through"
    r"|let through)\b",
    r"\bbitte\b[^.]{0,40}\b(?:bestätig|freigeb|genehmig|akzeptier|zustimm|durchwink)\w*"
    r"|\beinfach (?:bestätig|freigeb)\w*",
    r"\b(?:merci de|veuillez|prière de|il suffit)\b[^.]{0,24}\b(?:accept|approuv|valid|confirm)\w*",
    r"\b(?:por favor|basta|solo|simplemente)\b[^.]{0,24}\b(?:acept|aprueb|apruéb|aprob|confirm|valid)\w*",
    r"\b(?:por favor|basta|apenas)\b[^.]{0,24}\b(?:aceit|aprov|confirm)\w*",
    r"\b(?:per favore|basta|prego)\b[^.]{0,24}\b(?:accett|approv|conferm)\w*",
    r"\b(?:alstublieft|gelieve|graag|gewoon)\b[^.]{0,24}\b(?:goed ?te? ?keur|accept|bevestig)\w*",
    r"\bproszę\b[^.]{0,24}\b(?:zatwierdz|zaakcept|potwierdz)\w*|\b(?:vänligen|bara)\b[^.]{0,24}\b(?:godkänn"
    r"|bekräft)\w*",
    r"\b(?:пожалуйста|просто|прошу)\b[^.]{0,24}\b(?:подтверд|одобр|прим|утверд)\w*",
    r"\b(?:lütfen|sadece)\b[^.]{0,24}(?:onayla|kabul)\w*|请[^。]{0,8}(?:批准|通过|确认|同意|接受)",
    r"(?:承認|許可|確認)して(?:ください|下さい)|승인해 ?(?:주세요|주십시오)|يرجى (?:الموافقة|القبول)",
)
_SKIPPED = (
    r"\bno (?:further |additional |more |second |closer |separate |new )?(?:look|review|check|inspection"
    r"|reading|audit"
    r"|scrutiny|approval)s?\b[^.]{0,12}\b(?:needed|necessary|required|called for)\b",
    r"\b(?:need not|no need to|needn't|do(?:es)? not (?:have|need) to|not necessary to"
    r"|without)\s+(?:be(?:ing)? )?(?:look|read|review"
    r"|check|inspect|audit)(?:ed|ing)?\b",
    r"\bohne (?:weitere |erneute |nochmalige )?(?:durchsicht|prüfung|kontrolle|zu (?:lesen|prüfen))\b"
    r"|\b(?:prüfung|durchsicht)\b[^.]{0,20}\b(?:nicht (?:nötig|notwendig|erforderlich)|unnötig|entfällt)",
    r"\bsans (?:le |la |les |l')?(?:lire|relire|vérifier|contrôler|relecture|examen)\b|\binutile de (?:le "
    r"|la )?(?:relire|vérifier)",
    r"\bsin (?:leer\w*|revisar\w*|comprobar\w*|revisión)\b|\bno hace falta (?:revis|leer|comprob)\w*"
    r"|\bno es necesario revis\w*",
    r"\bsem (?:ler|rever|revisar|verificar)\b|\bnão (?:é necessário|precisa) (?:rever|revisar|verificar)",
    r"\bsenza (?:leggere|controllare|verificare|rileggere)\w*|\bnon (?:serve|occorre) (?:controllare"
    r"|rivedere|verificare)",
    r"\bzonder (?:te lezen|controle|nakijken)\b|\bniet nodig om\b|\bbez (?:czytania|sprawdzania"
    r"|przeglądu)\b|\butan granskning\b",
    r"\bбез (?:проверки|чтения|просмотра)\b|\bне (?:читая|проверяя|нужно проверять|требуется провер\w*)"
    r"|\bbez kontroly\b",
    r"\bincelemeden\b|\bokumadan\b|(?:无需|不用|不必|毋须)[^。]{0,6}(?:审核|审查|检查|查看|阅读)|(?:確認|審査|レビュー)(?:は)?(?:不要"
    r"|必要ありません)",
    r"(?:검토|확인)[가이은는]? ?(?:필요 ?없|불필요)|دون (?:مراجعة|قراءة)",
)
_PAGE = (
    r"\b(?:amber|findings?|scanner|checker|static (?:review|analysis)|linter|bandit|gates?|review page"
    r"|risk (?:rows?|list)"
    r"|(?:red|amber|yellow) (?:rows?|lines?|marks?|flags?))\b"
)
_DISMISSED = (
    r"\b(?:means? nothing|can be (?:ignored|accepted|skipped|disregarded)|may be (?:ignored|accepted)"
    r"|harmless|noise"
    r"|known (?:problem|issue|bug|false)|false (?:positive|alarm)s?|nothing to worry|not real|outdated"
    r"|old version"
    r"|out of date|by mistake|overly (?:strict|cautious)|too strict)\b"
)
_QUIET = (
    r"\b(?:say|tell (?:them|him|her)?|report|mention) nothing\b|\bwithout (?:telling|asking|informing"
    r"|mentioning)\b"
    r"|\b(?:do not|don't|never) (?:tell|inform|mention|say|ask)\b|\bkeep (?:it|this) (?:secret|quiet"
    r"|to yourself|between us)\b",
)
_ORDER = (
    r"\b(?:run|call|use|invoke|start|execute) (?:the )?(?:tool|action|command) \w+|\bnext step\b\s*:"
    r"|\byou (?:must|have to|should)"
    r" (?:now |then |immediately )?(?:run|call|send|upload|post|delete|read|open|fetch|export)\b",
)
_TAKEN_BACK = (
    r"\bignorier\w* (?:sie )?(?:alle |die |sämtliche )*(?:vorherigen|vorigen|bisherigen|obigen|früheren) \w+",
    r"\bignor(?:e|ez|er) (?:toutes )?(?:les )?(?:instructions|consignes|règles) (?:précédentes|antérieures"
    r"|ci-dessus)",
    r"\bignor(?:a|e|en|ar) (?:todas )?(?:las |as )?instru(?:cciones|ções) (?:anteriores|previas|prévias|acima)",
    r"\bignora(?:te|re)? (?:tutte )?le istruzioni (?:precedenti|sopra)|\bnegeer (?:alle )?(?:vorige|eerdere"
    r"|bovenstaande) \w+",
    r"\b(?:z?ignoruj|pomiń) (?:wszystkie )?(?:poprzednie|wcześniejsze) \w+|\bignorera (?:alla )?tidigare \w+",
    r"\b(?:и|про)?игнорируй\w* (?:все )?(?:предыдущие|прежние|вышеуказанные) \w+|önceki (?:tüm )?talimatları",
    r"(?:忽略|无视)(?:之前|以上|先前|前面|所有)[^。]{0,6}(?:指令|指示|说明|规则)|(?:以前|これまで|上記)の(?:指示|命令|規則)を?無視",
    r"(?:이전|위의?) ?(?:모든 )?(?:지시|명령|규칙)\S* ?(?:을|를)? ?무시|تجاهل (?:جميع )?التعليمات",
)


def _either(*parts: str) -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{one})" for one in parts), re.IGNORECASE)


_SIGNS = tuple(_either(*one) for one in (_READER, _DONE, _ASKED, _SKIPPED))
_AGENT = (_either(*_QUIET), _either(*_ORDER))
_DISMISSES = (_either(_PAGE), _either(_DISMISSED))
_BACK = _either(*_TAKEN_BACK)


def persuades(text: str) -> tuple[int, int] | None:
    """Where a text persuades its reader: from its first sign to its last; None where it does not."""
    if found := _BACK.search(text):
        return found.span()
    return _together(_SIGNS, text) or _together(_DISMISSES, text) or _together(_AGENT, text)


def _together(signs: tuple[re.Pattern[str], ...], text: str) -> tuple[int, int] | None:
    """Two signs of different kinds that are close to each other and not the same words."""
    met = sorted(
        (one.start(), one.end(), kind) for kind, sign in enumerate(signs) for one in sign.finditer(text)
    )
    for (start, end, kind), (later, last, other) in zip(met, met[1:], strict=False):
        if kind != other and later >= end and last - start <= _BREATH:
            return start, last
    return None
