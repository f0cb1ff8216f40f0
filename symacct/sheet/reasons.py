"""Why the engine decided as it did, in the language of a sheet; what has no fixed words stays in English."""

from __future__ import annotations

import re

from symacct.proof.growth import together as in_english

_CHINESE = {
    r"the difference is 0 in normal form": "差的规范形式为 0",
    r"both sides are equal": "两边相等",
    r"the two sides differ": "两边不等",
    r"the difference is not 0 in normal form, but no sizes show it":
        "差的规范形式不为 0，但未找到使两边不等的尺寸",
    r"with sizes counted from their least values all coefficients have one sign":
        "各尺寸自最小值起计，差的所有系数同号",
    r"the difference is a number, with that sign": "差是一个数，符号相符",
    r"the difference is a number, without that sign": "差是一个数，符号不符",
    r"it fails at a point": "在某处不成立",
    r"no sign of the difference could be shown, and no failing sizes found":
        "未能确定差的符号，也未找到反例",
    r"nothing is said to grow": "未说明何者趋于无穷",
    r"nothing is left that could grow, and the sides differ": "没有可趋于无穷的尺寸，且两边不等",
    r"the leading terms are equal, and the ratio tends to 1 as (.+)": "主项相等；当 {0} 时比值趋于 1",
    r"the leading terms differ as (.+): at (.+)": "当 {0} 时主项不同：{1}",
    r"it is not seen whether the leading terms are equal as (.+)": "当 {0} 时主项是否相等，未能判定",
    r"the ratio tends to ([01]) as (.+)": "当 {1} 时比值趋于 {0}",
    r"the ratio does not tend to 1 as (.+)": "当 {0} 时比值不趋于 1",
    r"the ratio grows like a power of (.+)": "比值按 {0} 的幂增长",
    r"both grow alike as (.+)": "当 {0} 时两边同阶增长",
    r"the formulas of each maximum were compared, and witnesses found":
        "逐一比较各最大值中的公式，均有内核核验的证据",
    r"a witness was found that the kernel accepts": "找到内核核验通过的证据",
    r"on one side of it the condition is proved, on the other its denial; the kernel accepts both":
        "在其一侧证明条件成立，在另一侧证明其否定；内核均核验通过",
    r"the difference is linear in (\w+), and 0 there": "差关于 {0} 是线性的，在该处为 0",
    r"the difference changes its sign there, and nowhere else as (\w+) grows":
        "随 {0} 增大，差只在该处变号",
    r"one holds and the other does not at a point": "在某处条件与临界值一真一假",
    r"where the sides are equal was not solved for (\w+)": "未能就 {0} 解出两边相等之处",
    r"no sizes were found at which one holds and the other does not": "未找到条件与临界值一真一假的尺寸",
    r"convex for all real (\w+) > 0, and the derivative is 0 there":
        "对一切实数 {0} > 0 为凸函数，且该处导数为 0",
    r"no single point was found where the derivative by (\w+) is 0": "未找到对 {0} 的导数为 0 的唯一点",
    r"no sizes were found that tell it from what is claimed": "未找到能与所称区分的尺寸",
    r"it is (.+), over real (\w+) > 0": "对实数 {1} > 0，其值为 {0}",
    r"it grows without end as (.+)": "当 {0} 时无界增长",
    r"no limit was found as (.+)": "当 {0} 时未找到极限",
    r"the leading term has degree 0 as (.+)": "当 {0} 时主项次数为 0",
    r"it tends to (.+) as (.+)": "当 {1} 时趋于 {0}",
    r"the least over integer (\w+) is another": "对整数 {0}，最小值并非如此",
    r"no sizes refute it, and a proof is sought for all integer (\w+) alone":
        "未找到反例；仅对全体整数 {0} 求证",
    r"it is not seen that no integer (\w+) gives less": "未能证明没有整数 {0} 取得更小的值",
    r"it is not seen which integer (\w+) gives that much": "未能找到取得该值的整数 {0}",
    r"no integer (\w+) gives less, since (.+?); (.+?) gives that much, in two cases; "
    r"the kernel accepts each inequality":
        "没有整数 {0} 取得更小的值，因为 {1}；{2} 取得该值（分两种情形）；内核核验每个不等式",
    r"(\w+ = \d+) gives less than (\w+ = \d+) there": "该处 {0} 的值小于 {1} 的值",
    r"which formula is the largest depends on the sizes: say where, as in: (.+)":
        "何者最大取决于尺寸，须限定范围，如：{0}",
    r"it divides by (.+), which is 0 at (.+); --assume sizes without that":
        "除数 {0} 在 {1} 处为 0；请限定尺寸",
    r"it divides by (.+), which could not be shown to be other than 0": "未能证明除数 {0} 不为 0",
    r"(.+) read as (.+)": "{0} 读作 {1}",
    r"(.+) read in (.+)": "{0} 以 {1} 计",
    r"assuming (.+)": "设 {0}",
    r"ideal even sharding, no communication: a bound": "理想均分，不计通信：为界",
    r"(.+) is one of these (\w+) where (.+)": "{0} 是这样的 {1}，若 {2}",
    r"the two sides have different units": "两边单位不同",
    r"(\S+) is no number in (\S+)": "{0} 在 {1} 中不是有限数",
    r"(.+) and (.+) cannot be compared": "{0} 与 {1} 不能比较",
    r"(.+) and (.+) cannot be added": "{0} 与 {1} 不能相加",
    r"(\S+) has no peak for (\w+), dense": "{0} 没有 {1} 的稠密峰值",
    r"(\S+) has no (\w+)": "{0} 没有 {1}",
}  # fmt: skip
CHINESE = tuple((re.compile(pattern), said) for pattern, said in _CHINESE.items())
TOGETHER = " together, in fixed proportion"


def together(growing: tuple[str, ...], lang: str) -> str:
    """Return what grows, in words.

    >>> together(("L",), "zh"), together(("B", "L"), "zh"), together(("B", "L"), "en")
    ('L → ∞', 'B、L 按固定比例 → ∞', 'B, L -> oo together, in fixed proportion')
    """
    said = in_english(growing)
    return _grown(said) if lang == "zh" else said


def reason(text: str, lang: str) -> str:
    """Return why something was decided; as the engine says it where there are no words for it.

    >>> reason("the ratio tends to 1 as D, F -> oo together, in fixed proportion", "zh")
    '当 D、F 按固定比例 → ∞ 时比值趋于 1'
    >>> reason("the two sides differ", "en"), reason("something else", "zh")
    ('the two sides differ', 'something else')
    """
    if lang != "zh":
        return text
    for pattern, said in CHINESE:
        found = pattern.fullmatch(text)
        if found is not None:
            return said.format(*(_grown(part) for part in found.groups()))
    return text


def _grown(text: str) -> str:
    """Return what grows in Chinese; any other text as it is."""
    if "-> oo" not in text:
        return text
    names = text.removesuffix(TOGETHER).removesuffix(" -> oo").replace(", ", "、")
    return f"{names} 按固定比例 → ∞" if text.endswith(TOGETHER) else f"{names} → ∞"
