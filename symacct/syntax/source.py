r"""The text of a formula in plain form: LaTeX commands, full-width signs and braces become plain characters.

Each plain character knows its place in the text as it was written, so that carets point there. A name that
LaTeX sets upright (``\mathrm{MFU}``) and a Greek letter stand between marks, which keep them in one piece.
"""

from __future__ import annotations

import re
from difflib import get_close_matches
from unicodedata import category, decomposition, east_asian_width, normalize

from symacct.algebra.symbols import is_name
from symacct.errors import FormulaError
from symacct.printers.latex import COMMANDS, LETTERS

LONGEST_TEXT = 10_000
DEEPEST = 100
SHOWN = 72
MARGIN = 12
NAME, FUNCTION, CLOSE, BAR, BAR_END, APART = "\ue000", "\ue001", "\ue002", "\ue003", "\ue004", "\ue005"
"""Marks of the plain form; the last stands behind a subscript, and keeps what follows apart from it."""
WIDE = {chr(code): chr(code - 0xFEE0) for code in range(0xFF01, 0xFF5F)} | {"\u3000": " "}
SIGNS = (
    WIDE
    | dict.fromkeys("×·⋅∙∗", "*")
    | dict.fromkeys("−–‐", "-")
    | dict.fromkeys("∼≃", "~")
    | {"÷": "/", "∕": "/", "，": ",", "、": ",", "；": ";", "≤": "≤", "≦": "≤", "≧": "≥"}
    | {"【": "[", "】": "]", "〔": "[", "〕": "]"}
)
GREEK = {**{letter: command[1:] for letter, command in LETTERS.items()}, "ϵ": "epsilon", "µ": "mu"}
SPACES = dict.fromkeys((",", ";", ":", " ", "quad", "qquad", "thinspace", "enspace", "(", ")", "[", "]"), " ")
NOTHING = dict.fromkeys(
    ("!", "left", "right", "displaystyle", "textstyle", "limits", "big", "Big", "bigg", "Bigg"), ""
) | dict.fromkeys(("bigl", "bigr", "Bigl", "Bigr", "biggl", "biggr"), "")
PLAIN = {
    **SPACES,
    **NOTHING,
    **dict.fromkeys(("cdot", "times", "ast"), "*"),
    **dict.fromkeys(("le", "leq", "leqslant"), "≤"),
    **dict.fromkeys(("ge", "geq", "geqslant"), "≥"),
    **dict.fromkeys(("to", "rightarrow", "longrightarrow"), "→"),
    **dict.fromkeys(("sim", "simeq"), "~"),
    "approx": "≈",
    "div": "/",
    "in": "∈",
    "mid": "|",
    "infty": "∞",
    "lt": "<",
    "gt": ">",
    "{": "(",
    "}": ")",
    "%": "%",
    "$": "$",
    "_": "_",
    "lceil": "⌈",
    "rceil": "⌉",
    "lfloor": "⌊",
    "rfloor": "⌋",
    "lvert": BAR,
    "rvert": BAR_END,
}
UPRIGHT = (
    "mathrm",
    "text",
    "textrm",
    "textit",
    "mathit",
    "mathsf",
    "mathbf",
    "textbf",
    "operatorname",
    "mathtt",
)
CALLS = ("max", "min", "log", "ln", "sqrt")
FRACTIONS = ("frac", "dfrac", "tfrac", "cfrac")
BINOMIALS = ("binom", "dbinom", "tbinom")
KNOWN = sorted(
    {
        *filter(str.isalpha, PLAIN),
        *UPRIGHT,
        *CALLS,
        *FRACTIONS,
        *BINOMIALS,
        *COMMANDS,
        "mathcal",
        "allowbreak",
    }
)
NEAR = 0.75
ADVICE = {
    "lim": "write a limit alone on the left, in plain text: lim_n(FORMULA) = FORMULA",
    "arg": "write it alone on the left, in plain text: argmin_k(FORMULA) = FORMULA",
    "sum": "write the sum in closed form: n*(n+1)/2",
    "prod": "write the product in closed form",
    "choose": "write \\binom{n}{k}",
}
"""Commands that many know and that are read in another form."""
ARROW = re.compile("->|→")
COMMAND = re.compile(r"\\([A-Za-z]+|.)", re.DOTALL)
INSIDE = r"\{((?:[^{}\\]|\\_|\\ )*)\}"
SET = rf"\\(?:{'|'.join(UPRIGHT)})\s*{INSIDE}"
SUBSCRIPT = re.compile(rf"_\s*(?:\{{\s*{SET}\s*\}}|{SET}|{INSIDE})")
LETTER = re.compile(r"_\s*(\{\s*)?\\(?:var)?([A-Za-z]+)(?(1)\s*\})")
BELOW = re.compile(r"_([A-Za-z0-9])")
OF_WORDS = {"+": "_plus_", "-": "_minus_", "*": "_times_", "/": "_over_"}
GROUP = re.compile(rf"\*?\s*{INSIDE}")
BASE_TWO = re.compile(r"\s*_\s*(?:2|\{\s*2\s*\})")


def caret(text: str, start: int) -> str:
    """Return the part of a text around a place, with a caret under the place on a second line.

    >>> print("  where     " + caret("6*N*X", 4))
      where     6*N*X
                    ^
    """
    first = max(0, min(start - SHOWN // 2, len(text) - SHOWN))
    shown = "".join(char if char.isprintable() else " " for char in text[first : first + SHOWN])
    ahead = sum(2 if east_asian_width(char) in "WF" else 1 for char in shown[: start - first])
    return f"{shown}\n{' ' * (MARGIN + ahead)}^"


class Source:
    r"""A formula as it was written, and its plain form with the place of each character.

    >>> Source(r"\frac{6N}{2 \cdot D}").plain
    '((6N)/(2 * D))'
    """

    def __init__(self, text: str, shown: str | None = None, *, latex: bool = False) -> None:
        """Rewrite the text.

        Args:
            text: the formula.
            shown: the text that carets are drawn under, of which the formula is a part at the same place.
            latex: whether it stands in a text between dollar signs; else a command says so.

        Raises:
            FormulaError: the text is too long, a brace stands alone, or a command is unknown.
        """
        if not isinstance(text, str) or len(text) > LONGEST_TEXT:
            got = f"{len(text)} characters" if isinstance(text, str) else type(text).__name__
            what = "a formula is a text of bounded length"
            raise FormulaError(what, expected=f"at most {LONGEST_TEXT} characters", got=got)
        self.text = normalize("NFC", text)
        self.shown = self.text if shown is None else shown
        self.chars: list[str] = []
        self.starts: list[int] = []
        self.ends: list[int] = []
        self.place = 0
        self.upright: list[bool] = []
        self.inside = False
        self.latex = latex or "\\" in self.text
        self.last = len(self.text)
        self._trim_dollars()
        self._run(0)
        self.plain = "".join(self.chars)
        self.starts.append(len(self.text.rstrip()))
        self.ends.append(len(self.text))

    def start(self, place: int) -> int:
        """Return where the plain character at a place was written."""
        return self.starts[place]

    def end(self, place: int) -> int:
        """Return where the text before a place of the plain form ends."""
        return self.ends[place - 1] if place else 0

    def caret(self, place: int) -> str:
        """Return the text around a place of the plain form, with a caret under it."""
        return caret(self.shown, self.start(place))

    def error(
        self, what: str, start: int, *, expected: str, got: str, fix: str | None = None
    ) -> FormulaError:
        """Return an error that points at a place of the written text."""
        return FormulaError(what, where=caret(self.shown, start), expected=expected, got=got, fix=fix)

    def _trim_dollars(self) -> None:
        """Leave out the dollar signs of LaTeX around a whole formula."""
        bare = self.text.strip()
        if len(bare) > 2 and bare[0] == bare[-1] == "$":
            size = 2 if bare.startswith("$$") and bare.endswith("$$") and len(bare) > 4 else 1
            self.latex = True
            self.place = self.text.index("$") + size
            self.last = self.text.rindex("$") + 1 - size

    def _emit(self, chars: str, start: int, end: int) -> None:
        for char in chars:
            self.chars.append(char)
            self.upright.append(self.inside)
            self.starts.append(start)
            self.ends.append(end)

    def _run(self, depth: int) -> None:
        """Rewrite up to the end, or to the brace that closes a group."""
        while self.place < self.last:
            if self.text[self.place] == "}":
                if depth:
                    return
                what = "a brace is closed that was never opened"
                raise self.error(what, self.place, expected="an operator or the end", got="}")
            self._step(depth)

    def _step(self, depth: int) -> None:
        start = self.place
        char = self.text[start]
        if char == "_" and (inside := self._subscript()) is not None:
            self._emit(f"_{inside}{APART}", start, self.place)
        elif char == "\\":
            self._command(depth)
        elif self.text.startswith("{,}", start):
            self.place += 3
        elif char == "{":
            self._argument("(", ")", depth)
        else:
            self.place += 1
            self._emit(self._plain(char, start), start, self.place)

    def _plain(self, char: str, start: int) -> str:
        """Return a character in plain form; a raised or lowered letter has none."""
        if char == "~" and self.latex and not self.text[start - 1 : start].isspace():
            return " "
        if char in SIGNS or category(char) == "Co":
            return SIGNS.get(char, "\ufffd")
        if category(char)[0] != "L":
            return char
        raised = decomposition(char).startswith(("<super>", "<sub>"))
        return "\ufffd" if raised else normalize("NFKC", char)

    def _subscript(self) -> str | None:
        """Pass a subscript in braces, of upright text or of a Greek letter; return it.

        Raises:
            FormulaError: it is no word and no number.
        """
        start = self.place
        letter = LETTER.match(self.text, start, self.last)
        if letter and letter[2] in COMMANDS:
            self.place = letter.end()
            return letter[2]
        found = SUBSCRIPT.match(self.text, start, self.last)
        if found is None:
            if self.text[start + 1 : start + 2] in {"{", "\\"}:
                raise self._no_word(start, self.text[start + 1 : start + 20])
            return None
        words = next(words for words in found.groups() if words is not None)
        inside = re.sub(r"\s+", "_", words.replace("\\_", "_").replace("\\ ", " ").strip())
        if not is_name(f"x{inside}") or not inside:
            said = "".join(OF_WORDS.get(one, one if is_name(f"x{one}") else "_") for one in inside)
            line = f"write {self.shown[:start]}_{{{said}}}{self.shown[found.end() :]}".strip()
            line = ADVICE["lim"] if ARROW.search(words) else line
            raise self._no_word(start, words, line if inside else None)
        self.place = found.end()
        return inside

    def _no_word(self, start: int, got: str, fix: str | None = None) -> FormulaError:
        what = "a subscript is a word or a number"
        return self.error(what, start, expected="d_{model} or x_1", got=got[:40], fix=fix)

    def _pass_spaces(self) -> None:
        while self.place < self.last and self.text[self.place].isspace():
            self.place += 1

    def _argument(self, opened: str, closed: str, depth: int, command: int | None = None) -> None:
        """Rewrite one argument: a group in braces, a command, or one character."""
        self._pass_spaces()
        start = self.place
        if depth >= DEEPEST:
            what = "a formula is nested too deeply"
            raise self.error(what, start, expected=f"at most {DEEPEST} levels", got="{")
        self._emit(opened, start if command is None else command, start + 1)
        if self.text[start : start + 1] == "{":
            self.place += 1
            self._run(depth + 1)
            if self.place >= self.last:
                raise self.error("a brace is not closed", start, expected="'}' for this brace", got="the end")
            self.place += 1
        elif start < self.last and self.text[start] != "}":
            self._step(depth + 1)
        else:
            got = self.text[start : start + 1] or "the end"
            raise self.error("an argument is missing", start, expected="an argument in braces", got=got)
        self._emit(closed, self.place - 1, self.place)

    def _command(self, depth: int) -> None:  # noqa: C901 (one for each kind)
        start = self.place
        match = COMMAND.match(self.text, start, self.last)
        name = match[1] if match else ""
        self.place = match.end() if match else self.last
        if name in {"left", "right"} and self.text[self.place : self.place + 1] in {"|", "."}:
            bar = {"left|": BAR, "right|": BAR_END}.get(name + self.text[self.place], "")
            self.place += 1
            self._emit(bar, start, self.place)
        elif name == "allowbreak":
            self._pass_spaces()
        elif name in PLAIN:
            self._emit(PLAIN[name], start, self.place)
        elif name in FRACTIONS:
            self._argument("((", ")/", depth, start)
            self._argument("(", "))", depth)
        elif name in BINOMIALS:
            self._binomial(start, depth)
        elif name == "sqrt" and self.text[self.place : self.place + 1] == "[":
            self._root(depth, start)
        elif name in CALLS:
            self._call(name, start, depth)
        elif name in UPRIGHT:
            self._upright(start, depth)
        elif name.removeprefix("var") in COMMANDS:
            self._emit(f"{NAME}{name.removeprefix('var')}{self._below()}{CLOSE}", start, self.place)
        elif name == "mathcal":
            self._argument("", "", depth)
        else:
            raise self._unknown(name, start)

    def _binomial(self, start: int, depth: int) -> None:
        self._emit(f"{FUNCTION}binomial{CLOSE}", start, self.place)
        self._argument("((", "),", depth, start)
        self._argument("(", "))", depth)

    def _below(self) -> str:
        """Pass the subscript of a Greek letter; return it with its mark, or nothing."""
        one = BELOW.match(self.text, self.place, self.last)
        if one is not None:
            self.place = one.end()
            return one.group()
        inside = self._subscript() if self.text[self.place : self.place + 1] == "_" else None
        return "" if inside is None else f"_{inside}"

    def _call(self, name: str, start: int, depth: int) -> None:
        two = BASE_TWO.match(self.text, self.place) if name == "log" else None
        if two:
            name, self.place = "log2", two.end()
        self._emit(f"{FUNCTION}{name}{CLOSE}", start, self.place)
        if name == "sqrt":
            self._argument("(", ")", depth)

    def _root(self, depth: int, start: int) -> None:
        """Rewrite a root of another degree as a power."""
        closed = self.text.find("]", self.place)
        degree = self.text[self.place + 1 : closed].strip()
        if closed < 0 or not degree.isdecimal() or not 0 < len(degree) < 3:
            raise self.error(
                "the degree of a root is an integer", self.place, expected="[3]", got=degree[:20]
            )
        self.place = closed + 1
        self._argument("(", f")^(1/{degree})", depth, start)

    def _upright(self, start: int, depth: int) -> None:
        """Keep an upright name in one piece; other upright text is read as it stands."""
        group = GROUP.match(self.text, self.place, self.last)
        words = group[1].replace("\\_", "_").replace("\\ ", " ").strip() if group else ""
        before, self.inside = self.inside, True
        if group and is_name(words):
            self.place = group.end()
            self._emit(f"{NAME}{normalize('NFKC', words)}{self._below()}{CLOSE}", start, self.place)
        else:
            self._argument("", "", depth)
        self.inside = before

    def _unknown(self, name: str, start: int) -> FormulaError:
        near = get_close_matches(name[:64], KNOWN, n=1, cutoff=NEAR)
        said = f"did you mean \\{near[0]}?" if near else None
        return self.error(
            f"the LaTeX command \\{name[:64]} is not read here",
            start,
            expected="\\frac, \\sqrt, \\cdot, \\times, \\left, \\right, \\mathrm, Greek letters, ...",
            got=f"\\{name[:64]}",
            fix=ADVICE.get(name, said),
        )
