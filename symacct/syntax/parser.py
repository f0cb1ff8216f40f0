"""Tokens into a tree, by precedence. As in Python, ``-a^2`` is ``-(a^2)`` and powers group to the right."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Literal

from symacct.syntax.tokens import Token, Tokenizer

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from symacct.errors import FormulaError

DEEPEST = 100
MOST_ARGUMENTS = 16
MOST_SHOWN = 60
ONE_ARGUMENT = frozenset({"abs", "ceil", "ceiling", "floor", "log", "sqrt"})

Form = Literal["number", "name", "unit", "negative", "sum", "product", "quotient", "power", "call"]


@dataclass(frozen=True, slots=True)
class Tree:
    """One part of a formula, with its place in the text."""

    form: Form
    start: int
    end: int
    parts: tuple[Tree, ...] = ()
    name: str = ""
    value: Fraction = Fraction(0)


def parse(text: str, names: Collection[str], is_unit: Callable[[str], bool] | None = None) -> Tree:
    """Return the tree of a formula.

    Args:
        text: the formula.
        names: the declared names.
        is_unit: says which words are units; None reads no units.

    Raises:
        FormulaError: it cannot be read; the error has a caret.
        UnknownNameError: a name is not declared.

    >>> tree = parse("2BD^2", ["B", "D"])
    >>> tree.form, [part.form for part in tree.parts]
    ('product', ['number', 'name', 'power'])
    """
    return _Parser(Tokenizer(text, names, is_unit)).whole()


def doubtful_words(text: str, names: Collection[str]) -> list[str]:
    """Return the words that split into declared names in more than one way; their reading should be echoed.

    >>> doubtful_words("2*ab + c", ["a", "b", "ab", "c"])
    ['ab']
    """
    tokenizer = Tokenizer(text, names)
    tokenizer.run()
    seen = dict.fromkeys(tokenizer.doubtful)
    return list(seen)


class _Parser:
    def __init__(self, tokenizer: Tokenizer) -> None:
        self.tokenizer = tokenizer
        self.tokens = tokenizer.run()
        self.place = 0
        self.depth = 0

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
        return self.tokenizer.error(what, token.start, expected=expected, got=got, fix=fix)

    def whole(self) -> Tree:
        tree = self.sum()
        token = self.peek()
        if token.kind != "end":
            if token.text == ",":
                fix = "leave the comma out: 1000 or 1_000"
                raise self.fail("a comma stands outside a function", token, "one formula", fix)
            raise self.fail("a bracket is closed that was never opened", token, "an operator or the end")
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
        divisor: Tree | None = None
        while True:
            if self.takes("*"):
                factors.append(self.signed())
                divisor = None
            elif self.takes("/"):
                divisor = self.signed()
                top = (
                    factors[0]
                    if len(factors) == 1
                    else Tree("product", start, factors[-1].end, tuple(factors))
                )
                factors = [Tree("quotient", start, divisor.end, (top, divisor))]
            elif self.starts_factor():
                if divisor is not None:
                    raise self.ambiguous(start, divisor)
                factors.append(self.power())
            else:
                return (
                    factors[0]
                    if len(factors) == 1
                    else Tree("product", start, factors[-1].end, tuple(factors))
                )

    def starts_factor(self) -> bool:
        token = self.peek()
        if token.kind == "number" and self.tokens[self.place - 1].kind in {
            "number",
            "name",
            "unit",
            "raised",
        }:
            expected = "an operator between them"
            raise self.fail(
                "a number stands directly behind another factor", token, expected, "write * or ^ between"
            )
        return token.kind in {"number", "name", "unit", "function"} or (token.kind, token.text) == (
            "sign",
            "(",
        )

    def ambiguous(self, start: int, divisor: Tree) -> FormulaError:
        token = self.peek()
        text = self.tokenizer.text
        above, below = text[start : divisor.start].rstrip(" /÷／"), text[divisor.start : divisor.end]
        fix = f"write {above}/({below}*{token.text}...) or ({above}/{below})*{token.text}..."
        if len(fix) > MOST_SHOWN:
            fix = "write a/(b*c) or (a/b)*c"
        elif token.text != "(" and self.tokens[self.place + 1].kind == "end":
            fix = fix.replace("...", "")
        elif token.text == "(":
            fix = "write a/(b*c) or (a/b)*c"
        return self.fail("it is unclear whether this stands below the line", token, "a bracket or a *", fix)

    def signed(self) -> Tree:
        """Read a factor with any number of signs before it."""
        start, negative = self.peek().start, False
        while sign := self.takes("+", "-"):
            negative ^= sign.text == "-"
        tree = self.power()
        return Tree("negative", start, tree.end, (tree,)) if negative else tree

    def power(self) -> Tree:
        base = self.atom()
        token = self.peek()
        if token.kind == "raised":
            self.next()
            exponent = Tree("number", token.start, token.end, value=token.value)
        elif self.takes("^"):
            self.deeper(token)
            exponent = self.signed()
            self.depth -= 1
        else:
            return base
        return Tree("power", base.start, exponent.end, (base, exponent))

    def atom(self) -> Tree:
        token = self.next()
        if token.kind == "number":
            return Tree("number", token.start, token.end, value=token.value)
        if token.kind == "name":
            return Tree("name", token.start, token.end, name=token.text)
        if token.kind == "unit":
            return Tree("unit", token.start, token.end, name=token.text)
        if token.kind == "function":
            return self.call(token)
        if token.text == "(":
            self.deeper(token)
            inside = self.sum()
            return replace(inside, start=token.start, end=self.close(token).end)
        expected = "a number, a name or a bracket"
        if token.kind == "end":
            raise self.fail("the formula is incomplete", token, expected)
        raise self.fail(f"{token.text!r} stands where a factor must", token, expected)

    def close(self, opened: Token) -> Token:
        self.depth -= 1
        closed = self.takes(")")
        if closed is None:
            raise self.fail(
                "a bracket is not closed", self.peek(), f"')' for the bracket at {opened.start + 1}"
            )
        return closed

    def call(self, function: Token) -> Tree:
        opened = self.peek()
        if not self.takes("("):
            raise self.fail(f"{function.text} needs a bracket", opened, f"{function.text}(...)")
        self.deeper(opened)
        arguments = [self.sum()]
        while self.takes(","):
            arguments.append(self.sum())
        closed = self.close(opened)
        most = 1 if function.text in ONE_ARGUMENT else MOST_ARGUMENTS
        if len(arguments) > most:
            expected = f"{most} argument{'s at most' if most > 1 else ''}"
            what = f"{function.text} has {len(arguments)} arguments"
            raise self.fail(what, function, expected)
        return Tree("call", function.start, closed.end, tuple(arguments), function.text)
