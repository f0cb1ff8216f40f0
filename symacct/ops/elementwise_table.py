r"""The table of elementwise functions: how each runs, its derivative and its LaTeX.

A derivative is written ``"function operand ..."``; the operands are ``g`` (the cotangent), ``y`` (the
result) and ``a``, ``b``, ``c`` (the inputs). What it names is what backward keeps, the same as eager
torch does. A derivative that starts from ``g`` has the axes of the result, and works at its size.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from math import pi, sqrt
from typing import TYPE_CHECKING, Any

from symacct.counting import Counting

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

CUBIC = 0.044715
"""The coefficient of the cube in the tanh form of GELU (Hendrycks and Gimpel 2016, section 2)."""

TANH_SLOPE = sqrt(2 / pi)
DENSITY = 1 / sqrt(2 * pi)


@dataclass(frozen=True, slots=True)
class Row:
    """One elementwise function.

    Attributes:
        run: what it computes of ``(xp, *operands)``, and of the constant last if it has one.
        latex: a format of the operands: ``{a}`` in brackets where it is a sum, ``{0}`` as it is.
        grads: the derivative for each operand, None where there is none; empty without a rule.
        arity: the number of operands.
        native: the one call of torch, of ``(torch, *operands)``, where there is one.
        constant: whether it takes a constant.
        masks: the operands that are masks.
        output: the dtype of the result, where that is not the operands'.
    """

    run: Callable[..., Any]
    latex: str
    grads: tuple[str | None, ...] = ()
    arity: int = 1
    native: Callable[..., Any] | None = None
    constant: bool = False
    masks: frozenset[int] = frozenset()
    output: str | None = None


def _call(name: str, count: int = 1) -> str:
    return rf"\operatorname{{{{{name}}}}}({', '.join(f'{{{slot}}}' for slot in range(count))})"


def gelu(xp: Any, x: Any) -> Any:
    """Return x times the normal distribution function of x."""
    return x * 0.5 * (xp.erf(x * sqrt(0.5)) + 1.0)


def gelu_grad(xp: Any, x: Any, g: Any) -> Any:
    """Return g (F + x f), for the normal distribution function F and its density f at x."""
    below = (xp.erf(x * sqrt(0.5)) + 1.0) * 0.5
    density = xp.exp(xp.square(x) * -0.5) * DENSITY
    return (below + density * x) * g


def gelu_tanh(xp: Any, x: Any) -> Any:
    """Return x (1 + tanh(x (c + d x^2))) / 2."""
    inner = x * (xp.square(x) * (TANH_SLOPE * CUBIC) + TANH_SLOPE)
    return x * 0.5 * (xp.tanh(inner) + 1.0)


def gelu_tanh_grad(xp: Any, x: Any, g: Any) -> Any:
    """Return g (1 + t) (1 + (1 - t) x (c + 3 d x^2)) / 2, with t = tanh(x (c + d x^2))."""
    bend = xp.square(x) * (TANH_SLOPE * CUBIC)
    t = xp.tanh(x * (bend + TANH_SLOPE))
    slope = (bend * 3.0 + TANH_SLOPE) * x * (1.0 - t) + 1.0
    return (t + 1.0) * 0.5 * slope * g


def silu_grad(xp: Any, x: Any, g: Any) -> Any:
    """Return g s (1 + x (1 - s)), with s = sigmoid(x)."""
    s = xp.sigmoid(x)
    return ((1.0 - s) * x + 1.0) * s * g


ARITHMETIC = {
    "add": Row(lambda _, a, b: a + b, "{a} + {b}", ("g", "g"), arity=2),
    "sub": Row(lambda _, a, b: a - b, "{a} - {b}", ("g", "neg g"), arity=2),
    "mul": Row(lambda _, a, b: a * b, r"{a} \odot {b}", ("mul g b", "mul g a"), arity=2),
    "div": Row(lambda _, a, b: a / b, r"\frac{{{0}}}{{{1}}}", ("div g b", "div_grad g a b"), arity=2),
    "neg": Row(lambda _, a: -a, "-{a}", ("neg g",)),
    "scale": Row(lambda _, a, k: a * k, "{k} {a}", ("scale g",), constant=True),
    "shift": Row(lambda _, a, k: a + k, "{a} + {k}", ("g",), constant=True),
    "square": Row(
        lambda xp, a: xp.square(a), "{a}^{{2}}", ("square_grad a g",), native=lambda t, a: t.square(a)
    ),
    "abs": Row(lambda xp, a: xp.abs(a), r"\left|{0}\right|", ("abs_grad a g",), native=lambda t, a: t.abs(a)),
    "maximum": Row(
        lambda xp, a, b: xp.maximum(a, b),
        r"\max({0}, {1})",
        ("maximum_first_grad a b g", "maximum_second_grad a b g"),
        arity=2,
        native=lambda t, a, b: t.maximum(a, b),
    ),
    "greater": Row(lambda _, a, b: a > b, "[{a} > {b}]", (None, None), arity=2, output="mask"),
    "where": Row(
        lambda xp, a, b, c: xp.where(a, b, c),
        _call("where", 3),
        (None, "where_true_grad a g", "where_false_grad a g"),
        arity=3,
        native=lambda t, a, b, c: t.where(a, b, c),
        masks=frozenset({0}),
    ),
}
"""Arithmetic, and choices between values."""

FUNCTIONS = {
    "exp": Row(lambda xp, a: xp.exp(a), r"\exp({0})", ("mul g y",)),
    "log": Row(lambda xp, a: xp.log(a), r"\log({0})", ("div g a",)),
    "sqrt": Row(lambda xp, a: xp.sqrt(a), r"\sqrt{{{0}}}", ("sqrt_grad g y",)),
    "rsqrt": Row(lambda xp, a: xp.rsqrt(a), r"\frac{{1}}{{\sqrt{{{0}}}}}", ("rsqrt_grad g y",)),
    "sigmoid": Row(lambda xp, a: xp.sigmoid(a), r"\sigma({0})", ("sigmoid_grad g y",)),
    "tanh": Row(lambda xp, a: xp.tanh(a), r"\tanh({0})", ("tanh_grad g y",)),
    "relu": Row(
        lambda xp, a: xp.maximum(a, 0.0),
        _call("ReLU"),
        ("relu_grad y g",),
        native=lambda t, a: t.relu(a),
    ),
    "gelu": Row(
        gelu,
        _call("GELU"),
        ("gelu_grad a g",),
        native=lambda t, a: t.nn.functional.gelu(a),
    ),
    "gelu_tanh": Row(
        gelu_tanh,
        _call("GELUtanh"),
        ("gelu_tanh_grad a g",),
        native=lambda t, a: t.nn.functional.gelu(a, approximate="tanh"),
    ),
    "silu": Row(
        lambda xp, a: xp.sigmoid(a) * a,
        _call("SiLU"),
        ("silu_grad a g",),
        native=lambda t, a: t.nn.functional.silu(a),
    ),
}
"""Functions of one operand."""

DERIVATIVES = {
    "div_grad": Row(
        lambda _, g, a, b: -g * a / b / b,
        r"-\frac{{{a} \odot {b}}}{{{c}^{{2}}}}",
        arity=3,
    ),
    "square_grad": Row(lambda _, x, g: x * 2.0 * g, r"2 {a} \odot {b}", arity=2),
    "abs_grad": Row(lambda xp, x, g: xp.sign(x) * g, _call("abs'", 2), arity=2),
    "sqrt_grad": Row(lambda _, g, y: g * 0.5 / y, r"\frac{{{a}}}{{2 {b}}}", arity=2),
    "rsqrt_grad": Row(
        lambda xp, g, y: g * -0.5 * xp.square(y) * y,
        r"-\frac{{1}}{{2}} {a} \odot {b}^{{3}}",
        arity=2,
    ),
    "sigmoid_grad": Row(lambda _, g, y: (1.0 - y) * y * g, _call(r"\sigma'", 2), arity=2),
    "tanh_grad": Row(
        lambda xp, g, y: (1.0 - xp.square(y)) * g,
        _call("tanh'", 2),
        arity=2,
    ),
    "relu_grad": Row(
        lambda xp, y, g: xp.where(y > 0.0, g, 0.0),
        _call("ReLU'", 2),
        arity=2,
    ),
    "gelu_grad": Row(gelu_grad, _call("GELU'", 2), arity=2),
    "gelu_tanh_grad": Row(
        gelu_tanh_grad,
        _call("GELUtanh'", 2),
        arity=2,
    ),
    "silu_grad": Row(silu_grad, _call("SiLU'", 2), arity=2),
    "maximum_first_grad": Row(
        lambda xp, a, b, g: xp.where(a >= b, g, 0.0),
        r"[{a} \ge {b}] \odot {c}",
        arity=3,
    ),
    "maximum_second_grad": Row(
        lambda xp, a, b, g: xp.where(b > a, g, 0.0),
        "[{b} > {a}] \\odot {c}",
        arity=3,
    ),
    "where_true_grad": Row(
        lambda xp, a, g: xp.where(a, g, 0.0),
        r"{a} \odot {b}",
        arity=2,
        masks=frozenset({0}),
    ),
    "where_false_grad": Row(
        lambda xp, a, g: xp.where(a, 0.0, g),
        r"\lnot {a} \odot {b}",
        arity=2,
        masks=frozenset({0}),
    ),
}
"""What derivatives are made of; they have no derivatives of their own."""

TABLE: Mapping[str, Row] = {**ARITHMETIC, **FUNCTIONS}
"""The functions that a model is written in."""

ROWS: Mapping[str, Row] = {**TABLE, **DERIVATIVES}


@cache
def parts(function: str) -> Mapping[str, int]:
    """Return the primitives of a function for each element, as its row runs them.

    Raises:
        RuleError: it runs what has no count.

    >>> parts("silu")
    {'sigmoid': 1, 'mul': 1}
    """
    row, xp = ROWS[function], Counting()
    operands: list[Any] = [xp.array((), plain=slot in row.masks) for slot in range(row.arity)]
    row.run(xp, *operands, *([1.0] if row.constant else []))
    return {primitive: int(count) for primitive, count in xp.counts().items()}
