"""Why the engine decided as it did, in the language of a sheet; what has no fixed words stays in English."""

from __future__ import annotations

import re

from symacct.proof.growth import together as in_english

_CHINESE = {
    r"the difference is 0 in normal form": "差的规范形式为 0",
    r"the two sides differ": "两边不等",
    r"with sizes counted from their least values all coefficients have one sign":
        "各尺寸自最小值起计，差的所有系数同号",
    r"the difference is a number, with that sign": "差是一个数，符号相符",
    r"the difference is a number, without that sign": "差是一个数，符号不符",
    r"it fails at a point": "在某处不成立",
    r"holds at (\w+) points, not proved": "在所试的 {0} 处成立，未证明",
    r"holds along (\w+) rays as (.+), not proved": "当 {1} 时沿所试的 {0} 条射线成立，未证明",
    r"no sizes were found that satisfy the conditions": "未找到满足条件的尺寸",
    r"they differ by more than (\S+) of the exact one": "两者之差超过精确值的 {0} 倍",
    r"it has no value at (.+): (.+) is not defined there": "在 {0} 处没有值：{1} 在该处无定义",
    r"nothing is left that could grow, and the sides differ": "没有可趋于无穷的尺寸，且两边不等",
    r"the ratio tends to ([01]) as (.+)": "当 {1} 时比值趋于 {0}",
    r"the ratio does not tend to 1 as (.+)": "当 {0} 时比值不趋于 1",
    r"the ratio grows like a power of (.+) as (.+)": "当 {1} 时比值按 {0} 的幂增长",
    r"one side is 0 and the other is not as (.+)": "当 {0} 时一边为 0，另一边不为 0",
    r"both grow alike as (.+)": "当 {0} 时两边同阶增长",
    r"the formulas of each maximum were compared, and witnesses found":
        "逐一比较各最大值中的公式，均有内核核验的证据",
    r"a witness was found that the kernel accepts": "找到内核核验通过的证据",
    r"on one side of it the condition is proved, on the other its denial; the kernel accepts both":
        "在其一侧证明条件成立，在另一侧证明其否定；内核均核验通过",
    r"one holds and the other does not at a point": "在某处条件与临界值一真一假",
    r"it grows without end as (.+)": "当 {0} 时无界增长",
    r"the leading term has degree 0 as (.+)": "当 {0} 时主项次数为 0",
    r"it tends to (.+) as (.+)": "当 {1} 时趋于 {0}",
    r"no real (\w+) gives less, and (.+) gives that much": "没有实数 {0} 取得更小的值，且 {1} 取得该值",
    r"no integer (\w+) gives less, and one gives that much": "没有整数 {0} 取得更小的值，且有一个取得该值",
    r"no (real|integer) (\w+) gives so little": "没有{0} {1} 取得如此小的值",
    r"(.+) gives less than (.+) there": "该处 {0} 的值小于 {1} 的值",
    r"(.+) gives less": "{0} 取得更小的值",
    r"(.+) is not allowed there": "该处不允许 {0}",
    r"(.+) is no integer there": "该处 {0} 不是整数",
    r"an equality ties (\w+) to other sizes": "有等式将 {0} 与其他尺寸相连",
    r"a largest or least of several over real (\w+) is not judged": "对实数 {0} 的最大者或最小者不作判定",
    r"it divides by (.+), which is 0 at (.+); --assume sizes without that":
        "除数 {0} 在 {1} 处为 0；请限定尺寸",
    r"it divides by (.+), which could not be shown to be other than 0": "未能证明除数 {0} 不为 0",
    r"it takes the (.+) of (.+), which was not shown to be (.+) 0": "未能证明取{0}的 {1} {2} 0",
    r"it takes the factorial or binomial of (.+), which was not shown to be an integer":
        "未能证明取阶乘或二项式系数的 {0} 为整数",
    r"it has no value however large (.+): (.+) 0 fails": "无论 {0} 多大都没有值：{1} 0 不成立",
    r"(\w+) varies over real numbers; (.+) is set aside": "{0} 取实数；{1} 不予考虑",
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
KINDS = {"real": "实数", "integer": "整数"}
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
            return said.format(*(_grown(KINDS.get(part, part)) for part in found.groups()))
    return text


def _grown(text: str) -> str:
    """Return what grows in Chinese; any other text as it is."""
    if "-> oo" not in text:
        return text
    names = text.removesuffix(TOGETHER).removesuffix(" -> oo").replace(", ", "、")
    return f"{names} 按固定比例 → ∞" if text.endswith(TOGETHER) else f"{names} → ∞"
