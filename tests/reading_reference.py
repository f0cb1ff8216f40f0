"""A slow reader of the words of a statement: every reading of every word is tried, and judged by the rules.

Written from the description of the language alone. A statement that has one admissible reading has that one;
one that has none, or several, is refused. Plain text only.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import product

FUNCTIONS = {"sqrt", "log", "max"}
SUFFIX = {"k", "M", "B", "T"}
PIECE = re.compile(r"(?P<number>[0-9]+(?:\.[0-9]+)?(?:e[0-9]+)?)|(?P<word>[^\W\d]\w*)|(?P<sign>[-+*/^()=])")
PHYSICAL = {"GB", "ms", "byte", "s", "h"}
COUNTING = {"token", "layer"}
UNITS = PHYSICAL | COUNTING


@dataclass(frozen=True)
class Piece:
    """A number, word or sign, and whether a space stands before it."""

    kind: str
    text: str
    spaced: bool


def cut(text):
    """The pieces of a text."""
    found, place = [], 0
    while text[place:].strip():
        spaces = len(text[place:]) - len(text[place:].lstrip())
        one = PIECE.match(text, place + spaces)
        found.append(Piece(one.lastgroup, one.group(), spaces > 0))
        place = one.end()
    return found


class World:
    """One way to read all words of a statement."""

    def __init__(self, pieces, declared, free, readings):
        """Keep the pieces, and how each word is read."""
        self.pieces, self.declared, self.free = pieces, declared, free
        self.readings = dict(
            zip((n for n, one in enumerate(pieces) if one.kind == "word"), readings, strict=True)
        )

    def text(self, n):
        """The text of a piece; nothing outside."""
        return self.pieces[n].text if 0 <= n < len(self.pieces) else ""

    def behind_digits(self, n):
        """A number stands directly before, which is no exponent."""
        return (
            n > 0
            and self.pieces[n - 1].kind == "number"
            and self.text(n - 2) != "^"
            and not self.pieces[n].spaced
        )

    def behind_number(self, n):
        """A number and a space stand before; not an exponent."""
        return (
            n > 0
            and self.pieces[n - 1].kind == "number"
            and self.text(n - 2) != "^"
            and self.pieces[n].spaced
        )

    def before(self, n):
        """The last piece before, a power taken with its base."""
        n -= 1
        return n - 2 if n > 1 and self.text(n - 1) == "^" else n

    def behind_unit(self, n):
        """How a unit goes on here: a sign, a space, or not at all."""
        last = n - 1
        sign = self.text(last) if self.text(last) in {"*", "/"} else ""
        base = self.before(last if sign else n)
        if self.readings.get(base) != "unit":
            return ""
        return sign or ("space" if self.pieces[n].spaced else "")

    def behind_value(self, n):
        """What has a value stands before, and a space."""
        if n == 0 or not self.pieces[n].spaced:
            return False
        base = self.before(n)
        is_power = base != n - 1
        kind = self.pieces[base].kind
        return self.text(base) == ")" or (kind == "word" and self.readings[base] != "unit") or (
            is_power and kind == "number")  # fmt: skip

    def unit_position(self, n):
        """A unit may stand here."""
        power = n > 1 and self.text(n - 2) == "^" and self.pieces[self.before(n)].kind == "number"
        return bool(self.behind_digits(n) or self.behind_number(n) or self.behind_unit(n)
                    or self.behind_value(n) or power)  # fmt: skip

    def has_power(self, n):
        """A power follows."""
        return self.text(n + 1) == "^"

    def shown(self, word):
        """A word is a name by declaration, or by an occurrence that can be nothing else."""
        if word in self.declared:
            return True
        return any(self.surely_name(n) for n in self.readings if self.text(n) == word)

    def surely_name(self, n):
        """An occurrence is a name whatever else is there: no unit, no suffix, no function can be here."""
        word = self.text(n)
        if self.readings[n] != "name" or (self.text(n + 1) == "(" and word not in self.declared):
            return False
        if word in SUFFIX and self.behind_digits(n):
            return self.has_power(n)
        if self.is_unit_word(n) and self.most_units().unit_position(n):
            return False
        return not self.behind_digits(n) or self.has_power(n)

    def most_units(self):
        """The same pieces with a unit wherever a word may be one: what is a name there, is one anyhow."""
        made = World(self.pieces, self.declared, self.free, ["name"] * len(self.readings))
        for n in self.readings:
            if self.unit_in_quotient(n) and made.unit_position(n):
                made.readings[n] = "unit"
        return made

    def unit_in_quotient(self, n):
        """The name of a unit that nobody declares, or a B above one."""
        word = self.text(n)
        above = word == "B" and self.text(n + 1) == "/" and self.text(n + 2) in UNITS
        return (above or word in UNITS) and word not in self.declared

    def is_unit_word(self, n):
        """The name of a unit; B above or below another."""
        if self.text(n) != "B":
            return self.text(n) in UNITS
        below = self.text(n + 1) == "/" and self.text(n + 2 + (self.text(n + 2) == "(")) in UNITS
        return below or self.behind_unit(n) == "/"

    def stands(self, letter):
        """A letter is a name somewhere by itself."""
        if letter in self.declared:
            return True
        return any(
            self.text(n) == letter and self.readings[n] == "name" and self.text(n + 1) != "("
            and not (letter in UNITS | SUFFIX and not self.surely_name(n))
            for n in self.readings
        )  # fmt: skip

    def run(self, n):
        """The other words that stand beside a word with no sign between."""
        found = []
        for step in (1, -1):
            place = n + step
            while 0 <= place < len(self.pieces):
                if self.pieces[place].kind == "word":
                    found.append(place)
                elif self.pieces[place].kind != "number" and self.text(place) != "^":
                    break
                place += step
        return found

    def factors(self, n):
        """The words above the line in the product that a piece is in."""

        def chain(places):
            depth, here = 0, []
            for place in places:
                sign = self.text(place)
                if sign in {"=", "+", "-"} and not depth:
                    break
                deeper = {"(": 1, ")": -1}.get(sign, 0) * (1 if places.step > 0 else -1)
                if depth + deeper < 0:
                    break
                depth += deeper
                here.append(place)
            return here

        right, left = chain(range(n + 1, len(self.pieces))), chain(range(n - 1, -1, -1))[::-1]
        places, below, depth, found = [*left, n, *right], False, 0, []
        for place in places:
            sign = self.text(place)
            depth += {"(": 1, ")": -1}.get(sign, 0)
            if not depth and sign in {"*", "/"}:
                below = sign == "/"
            if self.pieces[place].kind == "word" and not below and place != n:
                found.append(place)
        return found

    def admissible(self):
        """Every word is read by the rules."""
        return all(getattr(self, f"may_be_{reading}")(n) for n, reading in self.readings.items())

    def may_be_function(self, n):
        """A function stands before a bracket, and its word is not declared."""
        return self.text(n) in FUNCTIONS and self.text(n + 1) == "(" and self.text(n) not in self.declared

    def may_be_product(self, n):
        """All letters are names; the word is not declared, and stands where no unit of its name can."""
        word = self.text(n)
        if len(word) < 2 or word in self.declared or self.is_function(n) or not word.isalpha():
            return False
        if word in UNITS:
            return False
        if self.text(n + 1) == "(":
            return all(letter in self.declared for letter in word)
        return all(map(self.stands, word))

    def is_function(self, n):
        """A function is nothing else."""
        return self.may_be_function(n)

    def may_be_stray(self, n):
        """A unit's word where no unit can be is doubtful: a physical one, or one that is a product too."""
        word = self.text(n)
        if word not in UNITS or len(word) < 2 or word in self.declared or self.unit_position(n):
            return False
        return (self.free and word in PHYSICAL) or all(map(self.stands, word))

    def may_be_unit(self, n):
        """A unit's word in a unit's place."""
        word = self.text(n)
        if not self.is_unit_word(n) or not self.unit_position(n):
            return False
        if not self.shown(word):
            called = self.text(n + 1) == "("
            most = 0 if called and not self.behind_digits(n) else 1
            return not (len(word) == 1 and self.free and self.others(n) > most)
        if self.behind_digits(n) or self.behind_unit(n) == "*":
            return False
        if self.text(n + 1) == "(" and word not in self.declared:
            return False
        return not (len(word) == 1 and self.behind_unit(n) != "/" and self.definite(n))

    def others(self, n):
        """How many words beside a letter are letters, or no units."""
        return sum(len(self.text(one)) == 1 or self.text(one) not in UNITS for one in self.run(n))

    def definite(self, n):
        """A name stands beside a letter."""
        return any(self.text(one) in self.declared or self.text(one) not in UNITS for one in self.run(n))

    def may_be_suffix(self, n):
        """Directly behind digits and before a unit; else the number where nothing says that it is a name."""
        word = self.text(n)
        if word not in SUFFIX or not self.behind_digits(n):
            return False
        if self.has_power(n) or self.is_unit_word(n):
            return False
        if self.before_unit(n) and self.behind_digits(n):
            return True
        if self.shown(word):
            return word in self.declared and not self.evident(word) and not self.multiplies(n)
        return True

    def evident(self, word):
        """The statement itself shows a word as a name."""
        return any(self.surely_name(n) for n in self.readings if self.text(n) == word)

    def multiplies(self, n):
        """A letter is multiplied with another name."""
        return any(
            self.shown(self.text(one)) or all(map(self.stands, self.text(one)))
            for one in self.factors(n)
            if self.text(one) != self.text(n)
        )

    def before_unit(self, n):
        """A unit of several letters follows, behind a space."""
        after = n + 1 < len(self.pieces) and self.pieces[n + 1].spaced
        return after and self.text(n + 1) in UNITS and len(self.text(n + 1)) > 1

    def may_be_name(self, n):  # noqa: PLR0911
        """Declared, or new where formulas stand alone."""
        word = self.text(n)
        if word in SUFFIX and self.behind_digits(n) and self.before_unit(n):
            return False
        if self.text(n + 1) == "(" and word not in self.declared:
            return False
        if self.is_unit_word(n) and self.unit_position(n):
            if self.shown(word):
                return True
            return (len(word) == 1 and self.free and self.others(n) > 0 and not self.behind_digits(n)) or (
                len(word) == 1 and self.free and self.others(n) > 1)  # fmt: skip
        if word in self.declared:
            return True
        if word in FUNCTIONS or not self.free:
            return False
        if len(word) > 1 and word.isalpha() and all(map(self.stands, word)):
            return False
        capitals = len(word) > 1 and word.isupper() and self.behind_digits(n)
        return not capitals or self.shown(word)


OPTIONS = ("function", "product", "stray", "unit", "suffix", "name")


def read(text, declared, *, free):
    """The one reading of a statement's words, as a list; None where it is refused."""
    pieces = cut(text)
    words = [n for n, one in enumerate(pieces) if one.kind == "word"]
    candidates = [_options(pieces[n].text) for n in words]
    found = []
    for readings in product(*candidates):
        world = World(pieces, declared, free, readings)
        if world.admissible():
            found.append(readings)
            if len(found) > 1:
                return None
    if len(found) != 1 or "stray" in found[0]:
        return None
    world = World(pieces, declared, free, found[0])
    lone = any(r == "suffix" and not (world.before_unit(n) and world.behind_digits(n)) for n, r in
               world.readings.items())  # fmt: skip
    return None if lone or any(map(loose, [world] * len(pieces), range(len(pieces)))) else list(found[0])


def loose(world, n):
    """A suffix letter behind a number and a space, before a unit, is refused whatever it is."""
    one = world.pieces[n]
    after = n + 1 < len(world.pieces) and world.pieces[n + 1].kind == "word" and world.text(n + 1) in UNITS
    return one.kind == "word" and one.text in SUFFIX and world.behind_number(n) and after


def _options(word):
    found = ["name"]
    found += ["function"] if word in FUNCTIONS else []
    found += ["product", "stray"] if len(word) > 1 else []
    found += ["unit"] if word in UNITS | {"B"} else []
    return found + (["suffix"] if word in SUFFIX else [])
