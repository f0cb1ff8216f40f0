"""Tokens into a tree, by precedence. As in Python, ``-a^2`` is ``-(a^2)`` and powers group to the right."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Literal

from symacct.errors import UnitError
from symacct.syntax.scan import RAISED
from symacct.syntax.source import BAR, BAR_END, caret
from symacct.syntax.tokens import Token, Tokenizer
from symacct.syntax.words import BEHIND
from symacct.units import read_unit

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from symacct.errors import FormulaError

DEEPEST = 100
TALLEST_TREE = 200
MOST_ARGUMENTS = 16
MOST_SHOWN = 60
TEN = re.compile(r"(10*)[eE]\+?([0-9]+)")
ONE_ARGUMENT = frozenset(
    {"abs", "ceil", "ceiling", "factorial", "floor", "ln", "log", "log2", "sqrt", "O", "Theta"}
)
TWO_ARGUMENTS = frozenset({"binomial"})
CLOSED = frozenset({")", "]", "}", "⌉", "⌋", "|"})
"""What the text of a part ends in where nothing behind it can belong to what it ends in."""
BRACKETS = {"(": ")", "[": "]", "⌈": "⌉", "⌊": "⌋", BAR: BAR_END}
ROUNDED = {"⌈": "ceil", "⌊": "floor", BAR: "abs"}
FACTORS = frozenset({"number", "name", "unit", "quantity", "function"})

Form = Literal[
    "number", "name", "quantity", "unit", "negative", "sum", "product", "quotient", "power", "call"
]


@dataclass(frozen=True, slots=True)
class Tree:
    """One part of a formula, with its place in the text.

    `name` is the name of a size, a quantity or a function, or the text of a unit.
    """

    form: Form
    start: int
    end: int
    parts: tuple[Tree, ...] = ()
    name: str = ""
    value: Fraction = Fraction(0)


def parse(
    text: str,
    names: Collection[str],
    is_unit: Callable[[str], bool] | None = None,
    quantities: Collection[str] = (),
    shown: str | None = None,
    **how: bool,
) -> Tree:
    """Return the tree of a formula.

    Args:
        text: the formula, as plain text or LaTeX.
        names: the declared names; `Names` carry what the rest of a statement shows of its words.
        is_unit: says which words are units; None reads no units.
        quantities: names of quantities; ``time.forward(relu)`` is the quantity of another graph.
        shown: the text that carets are drawn under, of which the formula is a part at the same place.
        how: ``free``, ``calc`` and ``latex``, as `Tokenizer` takes them.

    Raises:
        FormulaError: it cannot be read, or in two ways; the error has a caret.
        UnitError: a unit cannot be read.
        UnknownNameError: a name is not declared.

    >>> tree = parse("2BD^2", ["B", "D"])
    >>> tree.form, [part.form for part in tree.parts]
    ('product', ['number', 'name', 'power'])
    """
    return tree_of(Tokenizer(text, names, is_unit, quantities, shown, **how))


def tree_of(tokenizer: Tokenizer) -> Tree:
    """Return the tree of what a tokenizer splits."""
    return _Parser(tokenizer).whole()


def readings(tokenizer: Tokenizer) -> list[str]:
    """Return how words were read that could be read in another way, after they were.

    >>> from symacct.units import is_unit
    >>> tokenizer = Tokenizer("12h + 10e3", ["h"], is_unit)
    >>> _ = tree_of(tokenizer)
    >>> readings(tokenizer)
    ['10e3 is 1e4', 'h is a name here, not a unit; write hour for the unit']
    """
    found: list[str] = []
    for token in tokenizer.tokens:
        written = tokenizer.source.text[token.start : token.end]
        ten = TEN.fullmatch(written) if token.kind == "number" else None
        if ten and len(ten[1]) > 1:
            found.append(f"{written} is 1e{int(ten[2]) + len(ten[1]) - 1}")
    beaten = tokenizer.beaten.items()
    return found + [f"{word} is a name here, not a unit; write {long} for the unit" for word, long in beaten]


class _Parser:
    def __init__(self, tokenizer: Tokenizer) -> None:
        self.tokenizer = tokenizer
        self.tokens = tokenizer.run()
        self.place = 0
        self.depth = 0
        self.quotient_ends = -1

    def peek(self) -> Token:
        return self.tokens[self.place]

    def next(self) -> Token:
        token = self.tokens[self.place]
        self.place += token.kind != "end"
        return token

    def takes(self, *signs: str) -> Token | None:
        """Return the next token and pass it, if it is one of these signs."""
        token = self.peek()
        if token.kind == "sign" and token.text in signs:
            return self.next()
        return None

    def fail(self, what: str, token: Token, expected: str, fix: str | None = None) -> FormulaError:
        got = token.text[:64] or "the end"
        return self.tokenizer.source.error(what, token.start, expected=expected, got=got, fix=fix)

    def whole(self) -> Tree:
        tree = self.sum()
        token = self.peek()
        if token.kind != "end":
            if token.text == ",":
                fix = "leave the comma out: 1000 or 1_000"
                raise self.fail("a comma stands outside a function", token, "one formula", fix)
            raise self.fail("a bracket is closed that was never opened", token, "an operator or the end")
        level = [tree]
        for _ in range(TALLEST_TREE):
            level = [part for one in level for part in one.parts]
        if level:
            raise self.fail("a formula is nested too deeply", token, f"at most {TALLEST_TREE} levels")
        return tree

    def deeper(self, token: Token) -> None:
        self.depth += 1
        if self.depth > DEEPEST:
            raise self.fail("a formula is nested too deeply", token, f"at most {DEEPEST} levels")

    def sum(self) -> Tree:
        start = self.peek().start
        terms = [self.product()]
        while sign := self.takes("+", "-"):
            term = self.product()
            terms.append(Tree("negative", sign.start, term.end, (term,)) if sign.text == "-" else term)
        return terms[0] if len(terms) == 1 else Tree("sum", start, terms[-1].end, tuple(terms))

    def product(self) -> Tree:
        """Read factors; what follows a quotient without an operator is refused as ambiguous."""
        start = self.peek().start
        factors = [self.signed()]
        divisor = self.below(factors[0])
        while True:
            if self.takes("*"):
                factors.append(self.signed())
                divisor = self.below(factors[-1])
            elif slashes := self.takes("//"):
                raise self.whole_quotient(start, slashes)
            elif self.takes("/"):
                place = self.place
                divisor = self.signed()
                if self.below(divisor):
                    raise self.unclear_unit(start, divisor, self.tokens[place])
                factors = [Tree("quotient", start, divisor.end, (_joined(start, factors), divisor))]
            elif self.starts_factor():
                if divisor is not None:
                    raise self.ambiguous(start, divisor)
                factors.append(self.power())
                divisor = self.below(factors[-1])
            else:
                return _joined(start, factors)

    def whole_quotient(self, start: int, slashes: Token) -> FormulaError:
        """Return the error for ``a // b``, the division of integers in Python."""
        below = self.signed()
        text = self.tokenizer.source.shown
        divisor = text[below.start : below.end].strip()
        if below.form not in {"number", "name", "quantity"} and not divisor.startswith("("):
            divisor = f"({divisor})"
        made = f"floor({text[start : slashes.start].strip()}/{divisor})"
        fix = f"write {text[:start]}{made}{text[below.end :]}".rstrip()
        what = "// divides integers in Python and has no meaning here"
        return self.fail(what, slashes, "floor(a/b)", fix)

    def below(self, factor: Tree) -> Tree | None:
        """Return the factor itself where it ends in a quotient of units without a bracket around it."""
        return factor if self.place == self.quotient_ends else None

    def starts_factor(self) -> bool:
        token, before = self.peek(), self.tokens[self.place - 1].kind
        closed = self.tokens[self.place - 1].text == "!"
        if token.kind == "number" and (before in FACTORS or before == "raised" or closed):
            expected = "an operator between them"
            raise self.fail(
                "a number stands directly behind another factor", token, expected, "write * or ^ between"
            )
        return token.kind in FACTORS or (token.kind == "sign" and token.text in {"(", "[", "⌈", "⌊", BAR})

    def ambiguous(self, start: int, divisor: Tree) -> FormulaError:
        token = self.peek()
        text = self.tokenizer.source.text
        above, below = text[start : divisor.start].rstrip(" /÷／"), text[divisor.start : divisor.end]
        following = text[token.start : token.end]
        fix = f"write {above}/({below}*{following}...) or ({above}/{below})*{following}..."
        if self.tokens[self.place + 1].kind == "end":
            fix = fix.replace("...", "")
        if len(fix) > MOST_SHOWN or token.kind in {"sign", "function"}:
            fix = "write a/(b*c) or (a/b)*c"
        if self.quotient_ends == self.place:
            fix = f"write ({below})*{following}" if len(below) < MOST_SHOWN else "write a * between"
        return self.fail("it is unclear whether this stands below the line", token, "a bracket or a *", fix)

    def unclear_unit(self, start: int, divisor: Tree, token: Token) -> FormulaError:
        """Return the error for ``640 GB / 12 byte/param``."""
        text = self.tokenizer.source.text
        fix = f"write {text[start : divisor.start]}({text[divisor.start : divisor.end]})"
        what = "it is unclear how far what stands below the line goes"
        return self.fail(what, token, "a bracket around it", fix)

    def signed(self) -> Tree:
        """Read a factor with any number of signs before it."""
        start, negative = self.peek().start, False
        while sign := self.takes("+", "-"):
            negative ^= sign.text == "-"
        tree = self.power()
        return Tree("negative", start, tree.end, (tree,)) if negative else tree

    def power(self) -> Tree:
        base = self.factorials(self.atom())
        token = self.peek()
        if token.kind == "raised":
            self.next()
            exponent = Tree("number", token.start, token.end, value=token.value)
        elif self.takes("^"):
            self.deeper(token)
            exponent = self.exponent()
            self.depth -= 1
        else:
            return base
        raised = Tree("power", base.start, exponent.end, (base, exponent))
        last = self.tokens[self.place - 1]
        if "!" in {self.peek().text, last.text}:
            raise self.unclear_factorial(last if last.text == "!" else self.peek(), raised)
        if base.form == "number" and self.peek().kind == "unit":
            return self.amount(raised)
        return raised

    def factorials(self, base: Tree) -> Tree:
        """Read the sign of a factorial behind a number, a name, a function or a bracket.

        Raises:
            FormulaError: it is not clear what it is of: ``n!!``, ``5 GB!``.
        """
        sign = self.takes("!")
        if sign is None:
            return base
        amount = base.form == "product" and base.parts[-1].form == "unit"
        made = Tree("call", base.start, sign.end, (base,), "factorial")
        closed = self.tokenizer.source.text[base.end - 1 : base.end] in CLOSED
        if base.form == "unit" or (amount and not closed):
            expected = "a number, a name or a bracket in front of it"
            raise self.fail("a factorial is that of an integer, without a unit", sign, expected)
        if self.peek().text == "!" or (base.form == "call" and not closed):
            raise self.unclear_factorial(sign, made)
        return made

    def unclear_factorial(self, sign: Token, before: Tree) -> FormulaError:
        """Return the error for ``n!!``, ``√n!`` and ``2^n!``."""
        text = self.tokenizer.source.text
        inside = before.parts[-1]
        whole, part = (text[one.start : one.end].strip() for one in (before, inside))
        if before.form == "power":
            base, bare = text[before.parts[0].start : before.parts[0].end].strip(), part.removesuffix("!")
            fix = f"write {base}^({bare}!) or ({base}^{bare})!"
            fix = f"write ({whole})!" if bare and bare[0] in RAISED else fix
        elif inside.name == "sqrt":
            fix = f"write ({part})! or √({part[1:]}!)"
        else:
            fix = f"write ({whole})! for the factorial of a factorial"
        if len(fix) > MOST_SHOWN or "\\" in fix:
            fix = "put a bracket around what the factorial is of"
        return self.fail("it is unclear what this factorial is of", sign, "a bracket", fix)

    def exponent(self) -> Tree:
        """Read an exponent; a unit behind a number that is one belongs to the power."""
        token = self.peek()
        if token.kind == "number" and self.tokens[self.place + 1].kind == "unit":
            self.next()
            return Tree("number", token.start, token.end, value=token.value)
        return self.signed()

    def atom(self) -> Tree:
        token = self.next()
        if token.kind == "number":
            number = Tree("number", token.start, token.end, value=token.value)
            return self.amount(number) if self.peek().kind == "unit" else number
        if token.kind == "unit":
            return self.unit(token)
        if token.kind in {"name", "quantity"}:
            form: Form = "name" if token.kind == "name" else "quantity"
            return Tree(form, token.start, token.end, name=token.text)
        if token.kind == "function":
            return self.call(token)
        if token.text not in BRACKETS:
            what = f"{token.text!r} stands where a factor must"
            if token.kind == "end":
                what = "the formula is incomplete"
            raise self.fail(what, token, "a number, a name or a bracket")
        return self.bracket(token)

    def bracket(self, opened: Token) -> Tree:
        """Read a bracket, rounding or an absolute value."""
        self.deeper(opened)
        inside = self.sum()
        end = self.close(opened).end
        if opened.text in ROUNDED:
            return Tree("call", opened.start, end, (inside,), ROUNDED[opened.text])
        return replace(inside, start=opened.start, end=end)

    def amount(self, number: Tree) -> Tree:
        """Read the unit behind a number; the two hold together."""
        unit = self.unit(self.next())
        return Tree("product", number.start, unit.end, (number, unit))

    def unit(self, first: Token) -> Tree:
        """Read a product or quotient of units, as far as units go."""
        words, divided = [first.text], False
        end = self.place
        while word := self.unit_part():
            words.append(word)
            divided |= word[0] == "/"
            end = self.place
        if divided:
            self.quotient_ends = self.place
        text = "".join(words)
        try:
            read_unit(text)
        except UnitError as error:
            raise error.at(caret(self.tokenizer.source.shown, first.start)) from None
        return Tree("unit", first.start, self.tokens[end - 1].end, name=text)

    def unit_part(self) -> str:
        """Pass what continues a unit, and return its text; nothing where the unit ends."""
        token, after = self.peek(), self.tokens[min(self.place + 1, len(self.tokens) - 1)]
        if token.kind in {"unit", "raised"}:
            return ("^" if token.kind == "raised" else " ") + self.next().text
        if token.text == "^":
            negative = after.text == "-"
            number = self.tokens[min(self.place + 1 + negative, len(self.tokens) - 1)]
            if number.kind != "number":
                return ""
            self.place += 2 + negative
            return f"^{'-' * negative}{number.text}"
        if token.text in {"*", "/"} and after.kind == "unit":
            return self.next().text + self.next().text
        if token.text in {"*", "/"} and after.text == "(" and self.bracket_of_units():
            return self.next().text + self.units_in_bracket()
        return ""

    def bracket_of_units(self) -> bool:
        """Say whether the bracket behind the next sign holds units alone."""
        place = self.place + 2
        while (token := self.tokens[place]).kind == "unit" or token.text in {"*", "/", "^"}:
            place = min(place + 1 + (token.text == "^"), len(self.tokens) - 1)
        return token.text == ")" and place > self.place + 2

    def units_in_bracket(self) -> str:
        """Return the text of a bracket of units."""
        words: list[str] = []
        while (token := self.next()).text != ")":
            joined = words and token.kind == "unit" and words[-1][-1] not in "(*/"
            words.append(f" {token.text}" if joined else token.text)
        return "".join(words) + ")"

    def close(self, opened: Token) -> Token:
        self.depth -= 1
        expected = BRACKETS[opened.text]
        closed = self.takes(expected)
        if closed is None:
            shown = "|" if expected == BAR_END else expected
            raise self.fail(
                "a bracket is not closed", self.peek(), f"{shown!r} for the bracket at {opened.start + 1}"
            )
        return closed

    def call(self, function: Token) -> Tree:
        opened = self.peek()
        if function.text == "√" and opened.text != "(":
            return self.root(function)
        name = "sqrt" if function.text == "√" else function.text
        if not self.takes("("):
            raise self.fail(f"{name} needs a bracket", opened, f"{name}(...)", self.bracketed(function))
        self.deeper(opened)
        arguments = [self.sum()]
        while self.takes(","):
            arguments.append(self.sum())
        closed = self.close(opened)
        two = name in TWO_ARGUMENTS
        most = 1 if name in ONE_ARGUMENT else 2 if two else MOST_ARGUMENTS
        if len(arguments) > most or (two and len(arguments) < most):
            expected = f"{most} argument{'' if most == 1 else 's' if two else 's at most'}"
            what = f"{name} has {len(arguments)} argument{'s' if len(arguments) > 1 else ''}"
            raise self.fail(what, function, expected)
        return Tree("call", function.start, closed.end, tuple(arguments), name)

    def bracketed(self, function: Token) -> str | None:
        """Return the line with a bracket around the one name or number behind a function."""
        inside, after = (*self.tokens[self.place :], function)[:2]
        if inside.kind not in {"name", "number"} or (after.text or "+") not in BEHIND:
            return None
        shown = self.tokenizer.source.shown
        word, written = shown[function.start : function.end].strip(), shown[inside.start : inside.end]
        line = f"{shown[: function.start]}{word}({written}){shown[inside.end :]}"
        return f"write {line.strip()}"

    def root(self, sign: Token) -> Tree:
        """Read ``√L``: one number, name or bracket stands under it, and nothing may touch it from behind."""
        self.deeper(sign)
        inside = self.atom()
        self.depth -= 1
        token = self.peek()
        if token.kind in FACTORS and not token.spaced:
            text = self.tokenizer.source.text
            fix = f"write √({text[inside.start : inside.end]}*{token.text}) or a space"
            raise self.fail("it is unclear how far the root goes", token, "a bracket", fix)
        return Tree("call", sign.start, inside.end, (inside,), "sqrt")


def _joined(start: int, factors: list[Tree]) -> Tree:
    """Return one factor as it is, and more as a product."""
    return factors[0] if len(factors) == 1 else Tree("product", start, factors[-1].end, tuple(factors))
