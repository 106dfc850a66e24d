"""The estimate against real tokenizers, whose vocabularies come with a library: never below them by more than the margin."""

from __future__ import annotations

import base64
import json
import random
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from alita_tui.agent.tokens import tokens_in, worst
from alita_tui.spine.ports.models import Message, ModelRequest

Counter = Callable[[str], int]
MARGIN = 1.1
ROOT = Path(__file__).parents[2]
DICE = random.Random(7)
BYTES = DICE.randbytes(3000)
ROWS = [
    {
        "id": n,
        "name": f"item_{n}",
        "tags": ["a", "b"],
        "price": n * 1.17,
        "ok": n % 2 == 0,
        "more": {"x": None},
    }
    for n in range(40)
]


def letters(alphabet: str, words: int) -> str:
    return " ".join("".join(DICE.choices(alphabet, k=DICE.randint(2, 11))) for _ in range(words))


CORPUS = {
    "prose": (ROOT / "README.md").read_text(),
    "code": (ROOT / "alita_tui/agent/orchestrator.py").read_text(),
    "minified": "function a(b,c){return b.map(d=>d*c).filter(e=>e>3&&e<99)}for(let i=0;i<9;i++){a(f,i)[0]?.x??'x'}" * 5,
    "diff": "@@ -1,7 +1,7 @@\n-    return x\n+    return 2 * x\n" * 30,
    "html": "<div class=\"a b-c\"><span id='x'>&nbsp;T&amp;C</span><br/></div>\n" * 30,
    "names": "get_user_by_id_or_raise(self._the_long_name_here, getUserByIdOrRaise, MAX_TOKENS)\n" * 20,
    "German": "Wir schreiben einen Agenten, der seine Werkzeuge selbst baut, im Sandkasten prüft und nur ausführt, "
    "was ein Mensch genehmigt hat. Donaudampfschifffahrtsgesellschaftskapitänsmütze. Übergrößenträger.",
    "Finnish": "Kirjoitamme agenttia, joka rakentaa työkalunsa itse, testaa ne hiekkalaatikossa ja suorittaa vain "
    "ihmisen hyväksymät. Epäjärjestelmällistyttämättömyydellänsäkäänköhän.",
    "Polish": "Piszemy agenta, który sam buduje swoje narzędzia, sprawdza je w piaskownicy i uruchamia tylko "
    "zatwierdzone. Gżegżółka, chrząszcz brzmi w trzcinie.",
    "Vietnamese": "Chúng tôi đang viết một tác nhân tự tạo ra công cụ của mình và thử nghiệm chúng trong hộp cát.",
    "Chinese": "我们正在编写一个能够自己制造工具的智能体，它在沙箱中测试每一个工具，并且只有在得到批准之后才会运行它们。",
    "Japanese": "私たちは、自分で道具を作るエージェントを書いています。すべての道具は砂箱の中で試されます。お誕生日おめでとう。",
    "Korean": "우리는 스스로 도구를 만드는 에이전트를 작성하고 있습니다. 모든 도구는 샌드박스에서 테스트됩니다.",
    "Russian": "Мы пишем агента, который сам создаёт себе инструменты, проверяет их в песочнице и запускает одобренные.",
    "Greek": "Γράφουμε έναν πράκτορα που φτιάχνει τα εργαλεία του μόνος του.",
    "Arabic": "نحن نكتب وكيلا يصنع أدواته بنفسه ويختبرها في صندوق رمل ولا يشغل إلا ما وافق عليه الإنسان.",
    "Hindi": "हम एक ऐसा एजेंट लिख रहे हैं जो अपने उपकरण स्वयं बनाता है और उन्हें सैंडबॉक्स में परखता है।",
    "Thai": "เรากำลังเขียนเอเจนต์ที่สร้างเครื่องมือของตัวเองและทดสอบในแซนด์บ็อกซ์",
    "Marathi": "आम्ही एक असा एजंट लिहीत आहोत जो स्वतःची साधने तयार करतो आणि वाळूच्या पेटीत त्यांची चाचणी घेतो.",
    "Bengali": "আমরা এমন একটি এজেন্ট লিখছি যা নিজের সরঞ্জাম নিজেই তৈরি করে এবং স্যান্ডবক্সে সেগুলি পরীক্ষা করে।",
    "Punjabi": "ਅਸੀਂ ਇੱਕ ਅਜਿਹਾ ਏਜੰਟ ਲਿਖ ਰਹੇ ਹਾਂ ਜੋ ਆਪਣੇ ਔਜ਼ਾਰ ਆਪ ਬਣਾਉਂਦਾ ਹੈ।",
    "Gujarati": "અમે એક એવો એજન્ટ લખી રહ્યા છીએ જે પોતાના સાધનો જાતે બનાવે છે.",
    "Odia": "ଆମେ ଏକ ଏଜେଣ୍ଟ ଲେଖୁଛୁ ଯାହା ନିଜର ଉପକରଣ ନିଜେ ତିଆରି କରେ ଏବଂ ପରୀକ୍ଷା କରେ।",
    "Tamil": "தனது கருவிகளைத் தானே உருவாக்கும் ஒரு முகவரை நாங்கள் எழுதுகிறோம்.",
    "Telugu": "తన పనిముట్లను తానే తయారు చేసుకునే ఏజెంట్‌ను మేము రాస్తున్నాము.",
    "Kannada": "ತನ್ನ ಉಪಕರಣಗಳನ್ನು ತಾನೇ ತಯಾರಿಸುವ ಏಜೆಂಟ್ ಅನ್ನು ನಾವು ಬರೆಯುತ್ತಿದ್ದೇವೆ.",
    "Malayalam": "സ്വന്തം ഉപകരണങ്ങൾ സ്വയം നിർമ്മിക്കുന്ന ഒരു ഏജന്റിനെ ഞങ്ങൾ എഴുതുന്നു.",
    "Sinhala": "අපි තමන්ගේ මෙවලම් තමන්ම සාදා ගන්නා නියෝජිතයෙකු ලියන්නෙමු.",
    "Lao": "ພວກເຮົາກໍາລັງຂຽນຕົວແທນທີ່ສ້າງເຄື່ອງມືຂອງຕົນເອງ ແລະ ທົດສອບ",
    "Burmese": "ကျွန်ုပ်တို့သည် ကိုယ်ပိုင်ကိရိယာများကို ဖန်တီးသော အေးဂျင့်ကို ရေးနေသည်။",
    "Khmer": "យើងកំពុងសរសេរភ្នាក់ងារមួយដែលបង្កើតឧបករណ៍របស់ខ្លួន។",
    "Tibetan": "ང་ཚོས་རང་གི་ལག་ཆ་རང་གིས་བཟོ་མཁན་གྱི་ལས་ཚབ་ཅིག་འབྲི་བཞིན་ཡོད།",
    "Georgian": "ჩვენ ვწერთ აგენტს, რომელიც თავად ქმნის თავის ხელსაწყოებს და ამოწმებს მათ.",
    "Armenian": "Մենք գրում ենք գործակալ, որն ինքն է ստեղծում իր գործիքները։",
    "Amharic": "የራሱን መሣሪያዎች የሚሠራ ወኪል እየጻፍን ነው።",
    "Hebrew": "אנחנו כותבים סוכן שבונה את הכלים שלו בעצמו ובודק אותם בארגז חול.",
    "Persian": "ما عاملی می‌نویسیم که ابزارهای خود را می‌سازد و در جعبه شنی می‌آزماید.",
    "Urdu": "ہم ایک ایسا ایجنٹ لکھ رہے ہیں جو اپنے اوزار خود بناتا ہے۔",
    "Kazakh": "Біз өз құралдарын өзі жасайтын агент жазып жатырмыз және оларды тексереміз.",
    "old Greek": "Μῆνιν ἄειδε θεὰ Πηληϊάδεω Ἀχιλῆος οὐλομένην, ἣ μυρί᾽ Ἀχαιοῖς ἄλγε᾽ ἔθηκε",
    "traditional Chinese": "我們正在編寫一個能夠自己製造工具的智慧體，它在沙箱中測試每一個工具，並請人核准。",
    "Turkish": "Kendi araçlarını kendisi yapan bir ajan yazıyoruz; ışığı, göğü, çöğürü de ölçer.",
    "Yoruba": "A ń kọ aṣojú kan tí ó ń ṣe àwọn irinṣẹ́ tirẹ̀ fúnra rẹ̀.",
    "Mongolian": "ᠮᠣᠩᠭᠣᠯ ᠬᠡᠯᠡ",
    "Cherokee": "ᏣᎳᎩ ᎦᏬᏂᎯᏍᏗ",
    "Inuktitut": "ᐃᓄᒃᑎᑐᑦ",
    "Dhivehi": "ދިވެހި ބަސް",
    "Syriac": "ܠܫܢܐ ܣܘܪܝܝܐ",
    "rare Han": "".join(chr(DICE.randrange(0x3400, 0x4DBF)) for _ in range(300)),
    "emoji": "👍🎉🚀❤️🔥😀😂🥲👩‍👩‍👧‍👦🏳️‍🌈🇩🇪✨☕️🧪🛠️📦" * 8,
    "emoji in prose": "Great job 👍! Let's ship it 🚀🚀 — see you ☕ tomorrow 😀. " * 8,
    "symbols": "∀x∈ℝ: ⌈x⌉ = −⌊−x⌋ ∧ ¬β, ∫₀^∞ e^{-x²} dx = √π/2 ┌──┬─┐ │ ✔ ● │ └──┴─┘ " * 6,
    "combining": "".join(c + "".join(chr(DICE.randrange(0x300, 0x36F)) for _ in range(4)) for c in "this is zalgo" * 6),
    "base64": base64.b64encode(BYTES).decode(),
    "base64 in lines": base64.encodebytes(BYTES).decode(),
    "hex": BYTES[:1500].hex(),
    "keys": "\n".join(f"sk-{DICE.getrandbits(128):032x}" for _ in range(40)),
    "JSON": json.dumps(ROWS),
    "JSON in lines": json.dumps(ROWS, indent=2),
    "escaped": json.dumps({"zh": "我们正在编写", "code": 'if x:\n\tprint("x\\n")\n' * 20}),
    "numbers": " ".join(str(DICE.random() * 10 ** DICE.randrange(9)) for _ in range(200)),
    "digits": "".join(DICE.choices("0123456789", k=800)),
    "CSV": "\n".join(",".join(str(DICE.randrange(10 ** DICE.randint(1, 6))) for _ in range(8)) for _ in range(60)),
    "log": "\n".join(
        f"2026-11-21T07:{n % 60:02}:13.{DICE.randrange(10**6):06}Z INFO pool[{n}]: 3f{DICE.getrandbits(40):x} ready"
        for n in range(60)
    ),
    "addresses": "\n".join(f"https://example{n}.com/p/{DICE.getrandbits(40):x}?q=a%20b&id={n}#part" for n in range(60)),
    "signs": "".join(DICE.choices("!@#$%^&*()_+-=[]{}|;':\",./<>?`~\\", k=1200)),
    "capitals": "WE WRITE AN AGENT THAT BUILDS ITS OWN TOOLS AND TESTS THEM BEFORE ANYONE RUNS THEM. " * 6,
    "both cases": "".join(DICE.choices("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz", k=1500)),
    "random words": letters("abcdefghijklmnopqrstuvwxyz", 300),
    "random capitals": letters("ABCDEFGHIJKLMNOPQRSTUVWXYZ", 300),
    "spaces": (" " * 40 + "x\n") * 40,
    "empty lines": "\n" * 300,
    "tabs": "\t\tif x:\n\t\t\treturn y\n" * 40,
    "control": "".join(chr(DICE.randrange(1, 32)) for _ in range(400)) + "\x1b[31mred\x1b[0m\n" * 30,
}  # fmt: skip


@pytest.fixture(scope="module")
def tokenizers() -> dict[str, Counter]:
    """A byte-level vocabulary of 131,000 tokens and a SentencePiece one of 32,000."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the library's own imports
        import mistral_common
        from mistral_common.tokens.tokenizers.mistral import MistralTokenizer

        data = Path(mistral_common.__file__).parent / "data"
        opened = {
            name: MistralTokenizer.from_file(str(data / file)).instruct_tokenizer.tokenizer
            for name, file in (
                ("bytes", "tekken_240911.json"),
                ("pieces", "mistral_instruct_tokenizer_240323.model.v3"),
            )
        }

    def counted(tokenizer: Any, text: str) -> int:
        return len(tokenizer.encode(text, bos=False, eos=False))

    return {name: partial(counted, one) for name, one in opened.items()}


@pytest.mark.parametrize("kind", CORPUS)
def test_no_kind_of_text_is_undercounted_by_more_than_the_margin(
    tokenizers: dict[str, Counter], kind: str
) -> None:
    taken = {name: count(CORPUS[kind]) for name, count in tokenizers.items()}
    assert max(taken.values()) <= MARGIN * tokens_in(CORPUS[kind]), taken


@pytest.mark.parametrize("kind", ["prose", "code", "German", "Chinese", "JSON", "base64"])
def test_common_text_is_not_overcounted_by_far(tokenizers: dict[str, Counter], kind: str) -> None:
    most = max(count(CORPUS[kind]) for count in tokenizers.values())
    assert tokens_in(CORPUS[kind]) <= 1.6 * most


def test_mixed_and_cut_texts_are_not_undercounted(tokenizers: dict[str, Counter]) -> None:
    kinds = [text for kind, text in CORPUS.items() if not kind.startswith("random")]
    dice = random.Random(11)
    for _ in range(300):
        pieces = []
        for text in dice.choices(kinds, k=12):
            start = dice.randrange(len(text))
            pieces.append(text[start : start + dice.randint(20, 200)])
        mixed = "".join(pieces)
        for count in tokenizers.values():
            assert count(mixed) <= MARGIN * tokens_in(mixed), mixed


def test_a_whole_request_is_never_undercounted(tokenizers: dict[str, Counter]) -> None:
    for kind, text in CORPUS.items():
        request = ModelRequest(role="orchestrator", system=text, messages=(Message(role="user", text=text),))
        for count in tokenizers.values():
            assert 2 * count(text) <= worst(request).input_tokens, kind
