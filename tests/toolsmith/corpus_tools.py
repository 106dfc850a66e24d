"""Twenty small tools that are right, each with the ways in which it could be wrong."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

NUMBER, WHOLE, TEXT, TRUTH = {"type": "number"}, {"type": "integer"}, {"type": "string"}, {"type": "boolean"}


def many(of: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": of}


@dataclass(frozen=True)
class Tool:
    """One tool. `wrong` are replacements in the body that make it wrong for some arguments."""

    name: str
    purpose: str
    task: str
    takes: dict[str, dict[str, Any]]
    gives: dict[str, Any]
    signature: str
    body: str
    asserts: tuple[str, ...]
    others: tuple[tuple[Any, ...], ...]
    wrong: tuple[tuple[str, str], ...]
    leak: tuple[str, str]
    """A parameter, and the task's value for it as it stands in code."""


TOOLS = (
    Tool("clamp_number", "Limit a number to a range; a range whose low is above its high is refused.", 'Limit 4711.5 to 20 and 90.',
         {"x": NUMBER, "low": NUMBER, "high": NUMBER}, NUMBER, "x: float, low: float, high: float",
         "if low > high:\n    raise ValueError('low is above high')\nif x < low:\n    return low\nif x > high:\n    return high\nreturn x",
         ("run(5, 0, 10) == 5", "run(-4, 0, 10) == 0", "run(14, 0, 10) == 10", "run(1.5, 1.5, 1.5) == 1.5", "fails(5, 9, 1)"),
         ((7, 1, 3), (-2, -1, 1), (0, 0, 0), (2.5, 2, 3), (9, 4, 2), (3, 5, 9), (-7, -5, 5), (50, -1, 1)), (("return low", "return x"), ("return high", "return low"), ("x < low", "x < 0")),
         ("x", "4711.5")),
    Tool("count_vowels", "Count the vowels a, e, i, o, u of a text, upper or lower case.", 'How many vowels has "Mississippi steamboat"?',
         {"text": TEXT}, WHOLE, "text: str", "return sum(1 for letter in text.lower() if letter in 'aeiou')",
         ("run('banana') == 3", "run('') == 0", "run('AEIOU xyz') == 5", "run('rhythm') == 0"),
         (("Ohio",), ("queue",), ("Sky",), ("Hello, World",), ("UNDER the Bridge",), ("xyz",)), (("text.lower()", "text"), ("'aeiou'", "'aeio'"), ("sum(1", "sum(2")),
         ("text", "'Mississippi steamboat'")),
    Tool("roman_numeral", "Write a whole number from 1 to 3999 as a Roman numeral; other numbers are refused.", "Write 2749 as a Roman numeral.",
         {"number": WHOLE}, TEXT, "number: int",
         "if not 1 <= number <= 3999:\n    raise ValueError('from 1 to 3999')\nparts = []\nfor value, sign in ((1000, 'M'), (900, 'CM'), (500, 'D'), (400, 'CD'), (100, 'C'), (90, 'XC'), (50, 'L'), (40, 'XL'), (10, 'X'), (9, 'IX'), (5, 'V'), (4, 'IV'), (1, 'I')):\n    count, number = divmod(number, value)\n    parts.append(sign * count)\nreturn ''.join(parts)",
         ("run(1994) == 'MCMXCIV'", "run(3) == 'III'", "run(3999) == 'MMMCMXCIX'", "run(448) == 'CDXLVIII'", "run(555) == 'DLV'", "fails(0)", "fails(4000)"),
         ((4,), (9,), (40,), (90,), (2024,), (600,), (0,), (14,), (1666,), (3888,), (95,), (4000,)), (("(9, 'IX'), ", ""), ("(90, 'XC'), ", ""), ("(4, 'IV'), ", "")),
         ("number", "2749")),
    Tool("is_leap_year", "Tell whether a year is a leap year of the Gregorian calendar.", "Was 1788 a leap year?",
         {"year": WHOLE}, TRUTH, "year: int", "return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)",
         ("run(2024) is True", "run(2023) is False", "run(1900) is False", "run(2000) is True"),
         ((2100,), (1600,), (2004,), (2001,), (2022,), (1996,), (1800,), (2400,)), (("year % 100 != 0 or year % 400 == 0", "True"), (" or year % 400 == 0", ""), ("year % 4 == 0", "year % 2 == 0")),
         ("year", "1788")),
    Tool("word_counts", "Count each word of a text, in lower case; words are runs of letters.", 'Count the words of "Nevermore, quoth the raven".',
         {"text": TEXT}, {"type": "object", "additionalProperties": WHOLE}, "text: str",
         "import re\n\nfound: dict[str, int] = {}\nfor word in re.findall('[a-z]+', text.lower()):\n    found[word] = found.get(word, 0) + 1\nreturn found",
         ("run('a b a') == {'a': 2, 'b': 1}", "run('') == {}", "run('One, one; TWO!') == {'one': 2, 'two': 1}"),
         (("x x x",), ("To be or not to be",), ("Cat cat",), ("",), ("It's 2 o'clock",), ("end. End? END!",)), (("text.lower()", "text"), ("found.get(word, 0) + 1", "1"), ("+ 1", "+ 2")),
         ("text", "'Nevermore, quoth the raven'")),
    Tool("median_value", "The median of a list of numbers; of an even count the mean of the two in the middle. An empty list is refused.", "The median of 17.25, 88.5 and 93.75?",
         {"values": many(NUMBER)}, NUMBER, "values: list[float]",
         "if not values:\n    raise ValueError('no values')\nrow = sorted(values)\nhalf = len(row) // 2\nif len(row) % 2:\n    return row[half]\nreturn (row[half - 1] + row[half]) / 2",
         ("run([3, 1, 2]) == 2", "run([4, 1, 3, 2]) == 2.5", "run([5]) == 5", "fails([])"),
         (([9, 1, 5, 3],), ([7, 7],), ([10, -10, 3],), ([1, 2, 3, 4, 100],), ([2],), ([-1, -2, -3, -4],), ([],)), (("sorted(values)", "values"), ("(row[half - 1] + row[half]) / 2", "row[half]"), ("half - 1", "half - 2")),
         ("values", "[17.25, 88.5, 93.75]")),
    Tool("caesar_shift", "Shift the letters a to z and A to Z of a text by a number of places around the alphabet.", 'Shift "Attack at dawn" by 5.',
         {"text": TEXT, "places": WHOLE}, TEXT, "text: str, places: int",
         "moved = []\nfor letter in text:\n    if 'a' <= letter <= 'z':\n        moved.append(chr((ord(letter) - ord('a') + places) % 26 + ord('a')))\n    elif 'A' <= letter <= 'Z':\n        moved.append(chr((ord(letter) - ord('A') + places) % 26 + ord('A')))\n    else:\n        moved.append(letter)\nreturn ''.join(moved)",
         ("run('abc', 1) == 'bcd'", "run('xyz', 3) == 'abc'", "run('Zz 9!', 1) == 'Aa 9!'", "run('KEY', -1) == 'JDX'", "run('', 4) == ''"),
         (("Hello", 13), ("zebra", 2), ("ABC", 26), ("Mix 1", -3), ("", 3), ("a b-c", 5), ("Wrap XYZ", 4)), (("% 26 + ord('a')", "% 25 + ord('a')"), ("ord('A') + places", "ord('A') - places"), ("moved.append(letter)", "moved.append('?')")),
         ("text", "'Attack at dawn'")),
    Tool("greatest_divisor", "The greatest common divisor of two whole numbers, never negative.", "The greatest common divisor of 5183 and 7171?",
         {"a": WHOLE, "b": WHOLE}, WHOLE, "a: int, b: int", "a, b = abs(a), abs(b)\nwhile b:\n    a, b = b, a % b\nreturn a",
         ("run(12, 18) == 6", "run(7, 5) == 1", "run(-4, 6) == 2", "run(0, 9) == 9", "run(0, 0) == 0", "run(-5, 0) == 5", "run(0, -3) == 3"),
         ((100, 75), (17, 51), (0, 5), (-9, -6), (13, 13), (35, 24), (0, 0), (-7, 0)), (("abs(a)", "a"), ("return a", "return max(a, 2)"), ("while b", "if b")),
         ("a", "5183")),
    Tool("is_palindrome", "Tell whether a text reads the same backwards; only letters and digits count, case does not.", 'Is "Was it a car or a cat I saw" a palindrome?',
         {"text": TEXT}, TRUTH, "text: str", "plain = [letter.lower() for letter in text if letter.isalnum()]\nreturn plain == plain[::-1]",
         ("run('Level') is True", "run('ab') is False", "run('A man, a plan, a canal: Panama') is True", "run('') is True"),
         (("No lemon, no melon",), ("Palindrome",), ("12321",), ("Aa",), ("abca",), ("Was it Eliot's toilet I saw",), ("ab ba!",)), (("letter.lower()", "letter"), (" if letter.isalnum()", ""), ("plain == plain[::-1]", "plain[0:1] == plain[-1:]")),
         ("text", "'Was it a car or a cat I saw'")),
    Tool("celsius_to_fahrenheit", "Convert degrees Celsius to Fahrenheit; below absolute zero (-273.15) is refused.", "What is 36.62 degrees Celsius in Fahrenheit?",
         {"celsius": NUMBER}, NUMBER, "celsius: float", "if celsius < -273.15:\n    raise ValueError('below absolute zero')\nreturn celsius * 9 / 5 + 32",
         ("run(0) == 32", "run(100) == 212", "run(-40) == -40", "fails(-300)", "abs(run(-273.15) + 459.67) < 0.001"),
         ((37,), (-10,), (15.5,), (-274,), (-273.15,), (1000,), (-40,)), (("* 9 / 5", "* 2"), ("+ 32", "+ 30"), ("celsius * 9 / 5", "abs(celsius) * 9 / 5")),
         ("celsius", "36.62")),
    Tool("slug_of", "Make a slug of a text: lower case, every run of other characters than a to z and 0 to 9 one hyphen, none at the ends.", 'Make a slug of "Grand Opening: Café 1789!".',
         {"text": TEXT}, TEXT, "text: str", "import re\n\nreturn re.sub('[^a-z0-9]+', '-', text.lower()).strip('-')",
         ("run('Hello World') == 'hello-world'", "run('  a -- b  ') == 'a-b'", "run('') == ''", "run('X9!') == 'x9'"),
         (("One & Two",), ("--",), ("already-done",), ("UPPER",), ("Tabs\tand  spaces",), ("",), ("Ende.",)), ((".lower()", ""), (".strip('-')", ""), ("]+'", "]'")),
         ("text", "'Grand Opening: Café 1789!'")),
    Tool("compound_interest", "The amount after whole years of yearly compound interest in percent; negative years are refused.", "What become 8250.75 at 3.85 percent in 13 years?",
         {"amount": NUMBER, "percent": NUMBER, "years": WHOLE}, NUMBER, "amount: float, percent: float, years: int",
         "if years < 0:\n    raise ValueError('negative years')\nreturn round(amount * (1 + percent / 100) ** years, 2)",
         ("run(100, 10, 2) == 121", "run(50, 0, 9) == 50", "run(200, 5, 0) == 200", "run(100, -50, 1) == 50", "fails(1, 1, -1)"),
         ((1000, 5, 10), (1, 100, 3), (0, 7, 7), (10, 10, -2), (100, 2.5, 2), (500, 0, 5), (80, 25, 1)), (("** years", "* years"), ("percent / 100", "percent / 10"), ("(1 + percent", "(percent")),
         ("amount", "8250.75")),
    Tool("run_lengths", "Write a text as run lengths: each run as its count and its character, for example aab as 2a1b.", 'Write "wwwbbbbwwx" as run lengths.',
         {"text": TEXT}, TEXT, "text: str", "from itertools import groupby\n\nreturn ''.join(f'{len(list(run))}{letter}' for letter, run in groupby(text))",
         ("run('aab') == '2a1b'", "run('') == ''", "run('xyz') == '1x1y1z'", "run('aaaaaaaaaaa') == '11a'"),
         (("aabbaa",), ("AAb",), ("  ",), ("ssssstt",), ("aaaaaaaaaaaa",), ("",), ("1122",)), (("groupby(text)", "groupby(sorted(text))"), ("groupby(text)", "groupby(text.lower())"), ("len(list(run))", "min(9, len(list(run)))")),
         ("text", "'wwwbbbbwwx'")),
    Tool("binary_text", "Write a whole number in binary without prefix, a minus sign before negative ones.", "Write 60481 in binary.",
         {"number": WHOLE}, TEXT, "number: int", "sign = '-' if number < 0 else ''\nreturn sign + format(abs(number), 'b')",
         ("run(5) == '101'", "run(0) == '0'", "run(-2) == '-10'", "run(255) == '11111111'"),
         ((1,), (16,), (-9,), (1000,), (0,), (-255,), (7,)), (("'-' if number < 0 else ''", "''"), ("'b'", "'o'"), ("abs(number)", "abs(number) + 1")),
         ("number", "60481")),
    Tool("flat_list", "Flatten a list of lists of whole numbers by one level, keeping the order.", "Flatten [[641, 733], [], [877]].",
         {"rows": many(many(WHOLE))}, many(WHOLE), "rows: list[list[int]]", "return [value for row in rows for value in row]",
         ("run([[1, 2], [3]]) == [1, 2, 3]", "run([]) == []", "run([[], [5], []]) == [5]", "run([[2, 1], [2]]) == [2, 1, 2]"),
         (([[9], [8], [7]],), ([[1, 1], [1]],), ([[0]],), ([[3, 2, 1]],), ([],), ([[1], [2], [3], [4]],), ([[5, 4], [], [6]],)), (("in rows for value in row]", "in rows for value in sorted(row)]"), ("in rows for", "in rows[:2] for"), ("[value for row in rows for value in row]", "sorted({value for row in rows for value in row})")),
         ("rows", "[[641, 733], [], [877]]")),
    Tool("initials_of", "The initials of a name: the first letter of each word in upper case, each with a full stop.", 'The initials of "wilhelmina van der berg"?',
         {"name": TEXT}, TEXT, "name: str", "return ''.join(f'{word[0].upper()}.' for word in name.split())",
         ("run('ada lovelace') == 'A.L.'", "run('') == ''", "run(' Grace  Brewster Hopper ') == 'G.B.H.'"),
         (("alan turing",), ("X",), ("a b c d",), ("Rosa Parks",), ("",), ("john ronald reuel tolkien",), ("élodie",)), ((".upper()", ""), ("name.split()", "name.split()[:2]"), ("word[0]", "word[-1]")),
         ("name", "'wilhelmina van der berg'")),
    Tool("percent_change", "The change from an old to a new number in percent of the old, two decimals; an old of zero is refused.", "The change from 73.4 to 88.08 in percent?",
         {"old": NUMBER, "new": NUMBER}, NUMBER, "old: float, new: float", "if old == 0:\n    raise ValueError('the old number is zero')\nreturn round((new - old) / abs(old) * 100, 2)",
         ("run(50, 75) == 50", "run(80, 60) == -25", "run(-10, -5) == 50", "run(3, 4) == 33.33", "fails(0, 1)"),
         ((200, 100), (1, 4), (-4, -6), (9, 9), (0, 0), (3, 4), (10, 0), (-5, 5)), (("abs(old)", "old"), ("(new - old)", "(old - new)"), ("/ abs(old)", "/ abs(new)")),
         ("old", "73.4")),
    Tool("longest_word", "The longest word of a text, words parted by white space, the first of equals; an empty text has the empty word.", 'The longest word of "colourless green ideas sleep furiously"?',
         {"text": TEXT}, TEXT, "text: str", "return max(text.split(), key=len, default='')",
         ("run('a bbb cc') == 'bbb'", "run('') == ''", "run('one two six') == 'one'", "run('same size here') == 'same'"),
         (("to be or not",), ("alpha beta gamma",), ("x yy zz",), ("single",), ("",), ("tie for two",), ("the very last is longest",)), (("key=len, ", ""), ("max(text.split()", "max(reversed(text.split())"), ("text.split()", "text.split()[:2]")),
         ("text", "'colourless green ideas sleep furiously'")),
    Tool("digit_sum", "The sum of the decimal digits of a whole number, its sign left aside.", "The digit sum of 918273?",
         {"number": WHOLE}, WHOLE, "number: int", "return sum(int(digit) for digit in str(abs(number)))",
         ("run(123) == 6", "run(-45) == 9", "run(0) == 0", "run(1001) == 2"),
         ((99999,), (-7,), (10,), (246,), (0,), (1000000,), (-98,)), (("sum(int(digit)", "max(int(digit)"), ("str(abs(number))", "str(abs(number))[:3]"), ("int(digit) for digit in str(abs(number))", "int(digit) % 9 for digit in str(abs(number))")),
         ("number", "918273")),
    Tool("unique_items", "The items of a list of texts without repetitions, in the order of their first appearance.", 'Without repetitions: "maroon", "indigo", "maroon".',
         {"items": many(TEXT)}, many(TEXT), "items: list[str]", "return list(dict.fromkeys(items))",
         ("run(['a', 'b', 'a']) == ['a', 'b']", "run([]) == []", "run(['b', 'a', 'b', 'c']) == ['b', 'a', 'c']", "run(['x', 'X']) == ['x', 'X']"),
         ((["z", "y", "z"],), (["m"],), (["q", "q", "q"],), (["d", "c", "b"],), ([],), (["A", "a"],), (["s", "t", "s", "t", "u"],)), (("list(dict.fromkeys(items))", "sorted(set(items))"), ("list(dict.fromkeys(items))", "[one for one in items if items.count(one) == 1]"), ("fromkeys(items)", "fromkeys(one.lower() for one in items)")),
         ("items", "['maroon', 'indigo', 'maroon']")),
)  # fmt: skip
