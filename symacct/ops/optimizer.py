"""Optimizer updates: a table of states and arithmetic, and the op that runs a row."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import TYPE_CHECKING, Any, ClassVar, final

from sympy import ceiling

from symacct.algebra.normal import normal
from symacct.algebra.symbols import as_expr
from symacct.errors import GraphError, RuleError, unknown
from symacct.op import Example, Op
from symacct.ops.broadcast import joined
from symacct.tensor import Tensor, value

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from sympy import Expr

    from symacct.op import Call, Emit, NodeLike


@dataclass(frozen=True, slots=True)
class Scalars:
    """The numbers of one step, made once for all parameters; they cost nothing per element.

    Attributes:
        rate: the learning rate; of Adam, with both bias corrections in it.
        decay: the learning rate times the weight decay.
        beta: momentum, or the decay of the first moment.
        beta2: the decay of the second moment.
        eps: what is added to a root; of Adam, with the second bias correction in it.
    """

    rate: float
    decay: float
    beta: float
    beta2: float
    eps: float


def hoisted(scalars: Scalars, step: int) -> Scalars:
    """Return the scalars of Adam's step with the bias corrections taken out of the element's arithmetic.

    Source: Kingma and Ba 2015, end of section 2 (the order of computation).

    >>> hoisted(Scalars(0.1, 0.0, 0.5, 0.75, 1e-8), 1).rate
    0.1
    """
    second = sqrt(1 - scalars.beta2**step)
    rate = scalars.rate * second / (1 - scalars.beta**step)
    return Scalars(rate, scalars.decay, scalars.beta, scalars.beta2, scalars.eps * second)


@dataclass(frozen=True, slots=True)
class Rule:
    """One optimizer: its states, and its arithmetic ``(xp, scalars, p, g, *states)``.

    ``dtype`` is what each state is stored in, whatever the precision; None: the precision says it.
    ``block`` is how many elements of a tensor share one fp32 scale in each state; None: there are no scales.
    """

    states: tuple[str, ...]
    run: Callable[..., tuple[Any, ...]]
    dtype: str | None = None
    block: int | None = None

    def scales(self, elements: Expr) -> Expr:
        """Return how many scales the states of one tensor have; its last block may be short.

        >>> from symacct.algebra.symbols import symbol
        >>> RULES["adam8bit"].scales(symbol("D")), RULES["adam"].scales(symbol("D"))
        (2*ceiling(D/256), 0)
        """
        if self.block is None:
            return as_expr(0)
        return normal(len(self.states) * ceiling(elements / self.block))


def _average(old: Any, new: Any, beta: float) -> Any:
    return old * beta + new * (1 - beta)


def sgd(_: Any, s: Scalars, p: Any, g: Any) -> tuple[Any, ...]:
    """Step along the gradient."""
    return (p - g * s.rate,)


def momentum(_: Any, s: Scalars, p: Any, g: Any, m: Any) -> tuple[Any, ...]:
    """Step along a decaying sum of gradients (heavy ball)."""
    m = m * s.beta + g
    return (p - m * s.rate, m)


def adagrad(xp: Any, s: Scalars, p: Any, g: Any, a: Any) -> tuple[Any, ...]:
    """Step along the gradient over the root of the sum of its squares."""
    a = a + xp.square(g)
    return (p - g * s.rate / (xp.sqrt(a) + s.eps), a)


def rmsprop(xp: Any, s: Scalars, p: Any, g: Any, v: Any) -> tuple[Any, ...]:
    """Step along the gradient over the root of the average of its squares."""
    v = _average(v, xp.square(g), s.beta2)
    return (p - g * s.rate / (xp.sqrt(v) + s.eps), v)


def adam(xp: Any, s: Scalars, p: Any, g: Any, m: Any, v: Any) -> tuple[Any, ...]:
    """Step along the average gradient over the root of the average of its squares."""
    m = _average(m, g, s.beta)
    v = _average(v, xp.square(g), s.beta2)
    return (p - m * s.rate / (xp.sqrt(v) + s.eps), m, v)


def adamw(xp: Any, s: Scalars, p: Any, g: Any, m: Any, v: Any) -> tuple[Any, ...]:
    """Decay the parameter, then step as Adam does."""
    return adam(xp, s, p - p * s.decay, g, m, v)


def adam8bit(xp: Any, s: Scalars, p: Any, g: Any, m: Any, v: Any) -> tuple[Any, ...]:
    """Step as Adam does, on states in 8 bits with one scale for each block of 256.

    The states come and go as numbers: what is run is the arithmetic of scaling them, not the rounding.
    Source: Dettmers et al. 2022 (arXiv:2110.02861) for the method, with blocks of 2048; bitsandbytes,
    ``optim/optimizer.py``, ``Optimizer2State.init_state``, for blocks of 256 with one fp32 maximum each.
    """
    p, m, v = adam(xp, s, p, g, m, v)
    return p, _coded(xp, m), _coded(xp, v)


def _coded(xp: Any, state: Any) -> Any:
    """Return a state over the largest element of its block, made a code, and back."""
    flat = xp.reshape(state, (-1,))
    scale = xp.block_max(xp.abs(flat), BLOCK)
    return xp.reshape(xp.cast(flat / scale, "float") * scale, xp.shape(state))


def amsgrad(xp: Any, s: Scalars, p: Any, g: Any, m: Any, v: Any, largest: Any) -> tuple[Any, ...]:
    """Step as Adam does, over the largest average so far."""
    m = _average(m, g, s.beta)
    v = _average(v, xp.square(g), s.beta2)
    largest = xp.maximum(largest, v)
    return (p - m * s.rate / (xp.sqrt(largest) + s.eps), m, v, largest)


def lion(xp: Any, s: Scalars, p: Any, g: Any, m: Any) -> tuple[Any, ...]:
    """Decay the parameter, then step by the sign of an average; the kept average decays at another pace."""
    step = xp.sign(_average(m, g, s.beta)) * s.rate
    return (p - p * s.decay - step, _average(m, g, s.beta2))


RULES: Mapping[str, Rule] = {
    "sgd": Rule((), sgd),
    "momentum": Rule(("m",), momentum),
    "adagrad": Rule(("a",), adagrad),
    "rmsprop": Rule(("v",), rmsprop),
    "adam": Rule(("m", "v"), adam),
    "adamw": Rule(("m", "v"), adamw),
    "amsgrad": Rule(("m", "v", "largest"), amsgrad),
    "adam8bit": Rule(("m", "v"), adam8bit, dtype="int8", block=256),
    "lion": Rule(("m",), lion),
}
"""The optimizers; each is checked against torch.optim, or against its paper where torch has none."""

BLOCK = 256
"""Elements of a block of adam8bit."""

SCALE = "fp32"
"""The dtype of the scale of a block."""

USUAL = Scalars(rate=1e-3, decay=1e-5, beta=0.9, beta2=0.999, eps=1e-8)


@final
@dataclass(frozen=True, slots=True)
class Update(Op):
    """One parameter's optimizer step.

    ``Update("adamw")(p, g, m, v)`` gives the new ``p, m, v``.
    Counts: the primitives of the rule for each element; scalars (step size, bias corrections) are made once.

    >>> from symacct.algebra.symbols import symbol
    >>> p = Tensor("p", ("D",), (symbol("D"),))
    >>> sum(Update("adamw").counts((p, p, p, p), ()).values())
    14*D

    Attributes:
        rule: a name of the table.
    """

    rule: str

    def __post_init__(self) -> None:
        """Refuse a name that is not in the table."""
        if self.rule not in RULES:
            raise unknown("optimizer", self.rule, RULES)

    kind: ClassVar[str] = "optimizer"

    def infer(self, *ins: Tensor) -> tuple[Tensor, ...]:
        """Return the new parameter and states."""
        names = ("p", "g", *RULES[self.rule].states)
        if len(ins) != len(names) or any(sorted(t.axes) != sorted(ins[0].axes) for t in ins):
            raise GraphError(
                f"{self.rule} takes {len(names)} tensors with the same axes",
                expected=", ".join(names),
                got=", ".join(t.describe() for t in ins) or "none",
            )
        joined(self.rule, ins)
        return tuple(value(t.axes, t.dims, t.dtype) for t in (ins[0], *ins[2:]))

    def vjp(self, emit: Emit, node: NodeLike, g: str, wanted: frozenset[int]) -> dict[int, str]:
        """Refuse: a step is not differentiated."""
        raise RuleError(
            "an optimizer step has no derivative rule",
            expected="a graph without optimizer steps; the policy adds them",
            got=f"the gradient of {node.outs[0]}",
        )

    def run(self, call: Call) -> tuple[Any, ...]:
        """Run the rule with usual hyperparameters, as the first step."""
        return RULES[self.rule].run(call.xp, hoisted(USUAL, 1), *call.arrays)

    def latex(self, *inputs: str) -> str:
        """Return the call."""
        return rf"\operatorname{{{self.rule}}}({', '.join(inputs)})"

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        """Return every rule on a small matrix."""
        p = value(("D", "F"), (as_expr(2), as_expr(3)))
        return tuple(
            Example(cls(name), (p,) * (2 + len(rule.states)), frozenset()) for name, rule in RULES.items()
        )
