"""The words of derivations, in English and in Chinese; names and formulas are put in."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from symacct.sheet.data import Row, Step

_SAID: dict[str, tuple[str, str]] = {
    "prices": ("FLOP for each", "每次计 FLOP"),
    "choices": ("choices", "选择"),
    "step": ("step", "步骤"),
    "steps": ("{}, step by step", "{} 的逐步推导"),
    "and more": ("{} and {} more", "{} 等另 {} 项"),
    "smaller": ("{} smaller ones together", "其余较小的 {} 项合计"),
    "cut": ("({} terms, too long to be shown)", "（共 {} 项，过长，不列出）"),
    "in": ("in {}, {} times", "{} 中，{} 次"),
    "in once": ("in {}, once", "{} 中，一次"),
    "all of": ("all iterations of {}", "{} 的全部迭代"),
    "outside": ("outside of repeats", "循环之外"),
    "together": ("together", "合计"),
    "sum": ("the sum", "相加"),
    "collected": ("multiplied out, like terms collected", "展开并合并同类项"),
    "shape": ("written as in the table", "写成表中的形式"),
    "weights": ("{} = params, as derived for params", "{} = params，见 params 的推导"),
    "of parts": ("{}, each as derived for itself", "{}，各见其推导"),
    "same": ("the same terms as {}, derived there", "与 {} 各项相同，见其推导"),
    "ratio": ("{} over {}, each as derived for itself", "{} 除以 {}，各见其推导"),
    "reduced": ("as one fraction, reduced", "约分"),
    "forward": (
        (
            "forward: an op costs its price for each element; a contraction {} FLOP (one multiply-add) "
            "for each point of its index space"
        ),
        "前向：每个元素按运算单价计；缩并在其指标空间的每一点计 {} FLOP（一次乘加）",
    ),
    "backward": (
        (
            "backward: a contraction gives each operand that wants one a gradient, itself a contraction over "
            "the same points"
        ),
        "反向：缩并给每个需要梯度的操作数一个梯度，它也是同一指标空间上的缩并",
    ),
    "recompute": ("forward work that is done again in backward", "反向中重做的前向计算"),
    "optimizer": ("update by {}: its price for each parameter", "{} 更新：每个参数按其单价计"),
    "not formed": ("not formed: {}", "不求的梯度：{}"),
    "gradient of": ("the gradient of {} in {}", "{} 的梯度（{}）"),
    "where": (" ({})", "（{}）"),
    "algorithmic": (
        (
            "bytes {}: each op reads each input once and writes each output once; elements times the bytes "
            "of their format"
        ),
        "{} 的字节：每个运算读每个输入一次、写每个输出一次；元素数乘以格式的字节数",
    ),
    "issued": (
        "bytes {}: each operand is read once for each point of the op",
        "{} 的字节：每个操作数在运算的每一点读一次",
    ),
    "fused": (
        "bytes {}: a run of ops that are not contractions is one op; what crosses its border counts",
        "{} 的字节：连续的非缩并运算视为一个，只计越过边界的字节",
    ),
    "compulsory": (
        "bytes {}: inputs, weights and outputs, once",
        "{} 的字节：输入、权重与输出，各一次",
    ),
    "reads": ("reads {}", "读 {}"),
    "reads, at most": ("reads of {}, at most", "读（至多）{}"),
    "writes": ("writes {}", "写 {}"),
    "params": ("elements of each weight: the product of its axes", "每个权重的元素数：各轴之积"),
    "saved": (
        "saved for backward, each storage once: elements times the bytes of their format",
        "为反向保存，每块存储一次：元素数乘以格式的字节数",
    ),
    "held": (
        "{}: elements times the bytes of their format",
        "{}：元素数乘以格式的字节数",
    ),
    "as stated": ("as stated", "原话"),
    "read": ("read: {}", "读法：{}"),
    "replaced": ("with names replaced by what they stand for", "代入名称所指"),
    "derived": ("with what was derived put in", "代入推导所得"),
    "assumed": (", under {}", "，在 {} 下"),
    "difference": ("left less right, multiplied out and collected", "左减右，展开并合并"),
    "zero": ("the difference is 0, so both sides are equal at all sizes", "差为 0，故两边恒等"),
    "not zero": ("the difference is not 0", "差不为 0"),
    "fails at": ("it fails at {}: left and right there", "反例 {}：左、右两边为"),
    "values": ("left and right", "左、右两边"),
    "tends": ("left over right as {}: the limit", "当 {} 时左除以右的极限"),
    "tends turned": ("right over left as {}: the limit; left over right grows without bound",
                     "当 {} 时右除以左的极限；左除以右无界"),
    "error": ("relative error, (claimed - exact)/exact", "相对误差，(所称 − 精确)/精确"),
    "small from": ("below {} % from there on", "自此误差不超过 {} %"),
    "bound": ("claimed less exact, never {} 0: {}", "所称减精确：不{}于 0，故为{}"),
    "shifted": ("counted from the least sizes every coefficient is {}", "自最小尺寸起计，各系数皆为{}"),
    "verdict": ("{}: {}", "{}：{}"),
    "crossing": ("both sides are equal there, solved for {}", "两边在此相等，解出 {}"),
    "above": ("above that {} the left side is the {}, so that the condition says",
              "{} 大于该值时左边{}，故条件即"),
    "larger": ("larger", "较大"),
    "smaller side": ("smaller", "较小"),
    "integers": ("{} is an integer, for which that is the same as", "{} 为整数，故等价于"),
    "not equal, leading order": ("not equal, but their quotient tends to 1", "并不相等，但比值趋于 1"),
    "not equal, upper bound": ("not equal, but never too small", "并不相等，但从不偏小"),
    "not equal, lower bound": ("not equal, but never too large", "并不相等，但从不偏大"),
    "varies": ("what is looked at as {} varies", "{} 变动时所看的量"),
    "there": ("at {} it is", "在 {} 处为"),
    "example": ("for example at {}", "例如 {}"),
    "base": ("amounts in base units", "换成基本单位"),
    "comes to": ("worked out", "算得"),
    "in unit": ("in {}", "以 {} 计"),
    "claimed": ("{} is claimed, within {}", "所称为 {}，容差 {}"),
}  # fmt: skip
SAID: Mapping[str, tuple[str, str]] = MappingProxyType(_SAID)


def headed(row: Row, lang: str) -> tuple[str, tuple[Step, ...]]:
    """Return the heading of a row's steps, and the steps; a single one in words alone joins its heading."""
    judged = row.origin is not None and row.origin.judged is not None
    title = say("steps", lang, row.name if judged else row.quantity or row.name)
    if len(row.steps) == 1 and not row.steps[0].cell:
        return say("verdict", lang, title, row.steps[0].said), ()
    return title, row.steps


def say(key: str, lang: str, *facts: object) -> str:
    """Return words of a derivation.

    >>> say("in", "en", "layers", "L - 1"), say("sum", "zh")
    ('in layers, L - 1 times', '相加')
    """
    return SAID[key][lang == "zh"].format(*facts)
