"""Feeds the readers of formulas, claims, amounts, units and sizes what nobody should write.

Nothing but a `SymacctError` may come out, nothing may take long, and nothing may be executed.
Run with a number of inputs and a seed: ``python benchmarks/fuzz_reader.py 200000 0``.
"""

from __future__ import annotations

import os
import random
import resource
import signal
import sys
import time
from multiprocessing import Pool
from pathlib import Path
from tempfile import gettempdir

from symacct.claims import amount, read_claim, resolve
from symacct.errors import SymacctError
from symacct.quantity import Quantity
from symacct.syntax import read_amount, read_equation, read_formula, read_sizes
from symacct.units import Unit, read_unit

NAMES = ["B", "D", "K", "L", "S", "a", "ab", "b", "beta", "d_ff", "词表", "E", "N"]
UNITS = {
    "flops.model": "FLOP",
    "params": "parameter",
    "tokens": "token",
    "memory.peak": "byte",
    "time.step": "second",
}
TOKENS = [
    *"BDKLSabEN0123456789()[]{}^*/+-=~<>., \t,²³√%$_|\\'\"`;:!?@#&",
    *(
        "词表",
        "beta",
        "d_ff",
        "ab",
        "10",
        "64",
        "1e9",
        "0.5",
        "1e-3",
        "(1/2)",
        "9**9**9",
        "**",
        " where ",
        " as L -> oo",
    ),
    *(
        " GB",
        " GiB",
        " TFLOP/s",
        "/s",
        " token",
        " device",
        " parameter",
        "/parameter",
        " bit",
        " Gb",
        " FLOPS",
        " MAC",
        "B ",
    ),
    *(
        "flops.model",
        "params",
        "tokens",
        "memory.peak",
        "time.step",
        "time.step(relu)",
        " = ",
        " <= ",
        " ~ ",
        "O(",
        "Theta(",
    ),
    *(
        "sqrt(",
        "max(",
        "min(",
        "ceil(",
        "log(",
        "abs(",
        "⌈",
        "⌉",
        "⌊",
        "⌋",
        "≤",
        "×",
        "·",
        "（",
        "）",
        "，",
        "∈",
        "→",
        "∞",
    ),
    *(
        "\\frac{",
        "\\sqrt{",
        "\\left(",
        "\\right)",
        "\\mathrm{",
        "\\text{",
        "\\cdot ",
        "\\beta ",
        "}{",
        "}",
        "_{",
        "^{",
    ),
    *(
        "__import__('os').system('touch SPOT')",
        "eval('1')",
        "lambda: 0",
        "\x00",
        "\u202e",
        "\ue000",
        "\ue002",
        "½",
        "Ⅷ",
    ),
]
SPOT = Path(gettempdir()) / f"symacct_fuzz_{os.getuid()}"
SLOW, STUCK = 1.0, 20


def soup(chance: random.Random) -> str:
    """Tokens in any order."""
    return "".join(chance.choice(TOKENS) for _ in range(chance.randint(1, 30)))


def noise(chance: random.Random) -> str:
    """Random bytes, as text."""
    return chance.randbytes(chance.randint(1, 80)).decode(
        chance.choice(["utf-8", "latin-1", "utf-16"]), "replace"
    )


def nested(chance: random.Random) -> str:
    """One bracket, function or sign, many times."""
    opened, closed = chance.choice(
        [
            ("(", ")"),
            ("sqrt(", ")"),
            ("1/(B+", ")"),
            ("2^(", ")"),
            ("\\frac{1}{", "}"),
            ("\\sqrt{", "}"),
            ("⌈", "⌉"),
            ("{", "}"),
            ("-", ""),
            ("max(B,", ")"),
            ("(B+D)^(", ")"),
            ("B^", ""),
            ("((B+1)^2+", ")^2"),
            ("√", ""),
        ]
    )
    depth = chance.choice([3, 10, 30, 99, 101, 1000, 3000])
    return (
        opened * depth
        + chance.choice(["B", "2", "1/3", "D+1", ""])
        + closed * chance.choice([depth, depth - 1])
    )


def huge(chance: random.Random) -> str:
    """Large numbers, exponents and lengths."""
    digits = "".join(chance.choice("0123456789") for _ in range(chance.choice([5, 199, 201, 5000])))
    return chance.choice(
        [
            *(
                digits,
                f"1e{digits}",
                f"B^{digits}",
                f"2^{digits}",
                f"(13/10)^{digits}",
                f"9^9^{digits}",
                f"{digits}^64",
            ),
            *(
                f"1/{digits}",
                f"{digits} byte",
                f"10^{digits[:3]} byte",
                f"B={digits}",
                f"{digits}*{digits}",
                f"s^{digits}",
            ),
            *(
                f"0.{digits}",
                f"{digits}k",
                f"((9^9)^9)^{digits[:2]}",
                f"(B+1)^{digits[:2]}",
                f"(B+D+K+L+S)^{digits[:2]}",
            ),
            *(
                f"2^(1/{digits[:2]})",
                f"({digits[:3]}+B)^64^2",
                f"log({digits})",
                f"sqrt({digits})",
                f"ceil({digits}/7)",
            ),
        ]
    )


def mutated(chance: random.Random) -> str:
    """A valid text with a few characters changed."""
    text = list(
        chance.choice(
            [
                "6BD²L - 2BD²",
                "flops.model ~ 6*N*D where N = params, D = tokens as L -> oo",
                "6 FLOP/parameter/token * 70e9 parameter * 15e12 token / (8 device * 989 TFLOP/s/device)",
                "\\frac{6ND}{B \\cdot D \\cdot L}",
                "memory.peak <= 80 GB + 3 GiB",
                "2√(L·B) + ⌈L/K⌉",
                "640 GB / (12 byte/param)",
                "B=8,D=4k,词表=32k",
            ]
        )
    )
    for _ in range(chance.randint(1, 4)):
        place = chance.randrange(len(text))
        text[place] = chance.choice([chance.choice(TOKENS), "", text[place] * 2])
    return "".join(text)


MAKERS = (soup, soup, noise, nested, huge, mutated, mutated)
TABLE = {name: Quantity(1, Unit(unit)) for name, unit in UNITS.items()}


def read_all(text: str, chance: random.Random) -> None:
    """Read a text in one of the ways there are."""
    readers = (
        lambda: read_formula(text, NAMES),
        lambda: resolve(read_claim(text, NAMES, TABLE), lambda name: TABLE[name.partition("(")[0]]),
        lambda: resolve(
            read_claim(f"params = {text}", NAMES, TABLE), lambda name: TABLE[name.partition("(")[0]]
        ),
        lambda: read_claim(text, None),
        lambda: amount(text, chance.choice([None, "GB", "day", "FLOP"])),
        lambda: read_unit(text),
        lambda: read_sizes(text),
        lambda: read_amount(text),
        lambda: read_equation(f"F = {text}", NAMES),
    )
    chance.choice(readers)()


def _stuck(*_: object) -> None:
    raise TimeoutError


def batch(work: tuple[int, int]) -> tuple[int, int, list[str]]:
    """Return how many inputs were read, how many refused, and what went wrong."""
    seed, count = work
    chance = random.Random(seed)
    resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30))
    signal.signal(signal.SIGALRM, _stuck)
    good, refused, wrong = 0, 0, []
    for _ in range(count):
        text = chance.choice(MAKERS)(chance).replace("SPOT", str(SPOT))
        start = time.process_time()
        signal.alarm(STUCK)
        try:
            read_all(text, chance)
            good += 1
        except SymacctError as error:
            refused += bool(str(error))
        except BaseException as error:  # noqa: BLE001 (that is what is looked for)
            wrong.append(f"{type(error).__name__} {str(error)[:120]}: {text[:300]!r}")
        signal.alarm(0)
        if time.process_time() - start > SLOW:
            wrong.append(f"{time.process_time() - start:.1f} s: {text[:300]!r}")
    return good, refused, wrong


def main(count: int = 200_000, seed: int = 0, processes: int = 2) -> int:
    """Feed `count` inputs; return 1 where anything went wrong."""
    SPOT.unlink(missing_ok=True)
    for text in ("9" * 1_000_000, "(" * 1_000_000, "B" * 1_000_000, "\\frac{" * 200_000):
        for read in (lambda one: read_formula(one, NAMES), amount, read_unit, read_sizes, read_amount):
            start = time.process_time()
            try:
                read(text)
            except SymacctError:
                print(f"refused in {time.process_time() - start:.3f} s: {len(text)} characters")
    size = 500
    work = [(seed * 1_000_003 + number, size) for number in range(-(-count // size))]
    good, refused, wrong, start = 0, 0, [], time.perf_counter()
    with Pool(processes) as pool:
        for more, others, found in pool.imap_unordered(batch, work):
            good, refused = good + more, refused + others
            wrong += found
            for one in found:
                print(one, flush=True)
    print(f"{good + refused} inputs, {good} read, {refused} refused, {len(wrong)} wrong", end=", ")
    print(f"{time.perf_counter() - start:.0f} s; executed: {SPOT.exists()}")
    return int(bool(wrong) or SPOT.exists())


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
