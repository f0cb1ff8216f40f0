"""What the script of the page says, in English and in Chinese; ``{0}`` stands for what it fills in."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

_CHINESE = {
    "copy link": "复制链接",
    "reset": "复原",
    "copied": "已复制",
    "the link stands in the address bar": "链接在地址栏中",
    "ignored in the link: {0}": "链接中已忽略：{0}",
    "and {0} more": "另有 {0} 项",
    "{0}: a whole number, {1} or more": "{0}：不小于 {1} 的整数",
    "{0}: a number above 0, as 2, 0.5, 1/3 or 1e9": "{0}：大于 0 的数，如 2、0.5、1/3 或 1e9",
    "{0}: at most {1}": "{0}：至多 {1}",
    "{0}: at least {1}": "{0}：至少 {1}",
    "an error of this page: {0}": "本页出错：{0}",
    "holds only where {0}": "仅当 {0} 时成立",
    "a division by 0": "除数为 0",
    "a root of a negative number": "负数开方",
    "a factorial or binomial of what is no whole number": "对非自然数取阶乘或二项式系数",
    "a logarithm of a number that is not positive": "非正数取对数",
    "too large to be written out": "数过大，无法写出",
    "too close to a whole number to be told apart": "过于接近整数，无法分辨",
    "too close to equal to be told apart": "过于接近相等，无法分辨",
    "{0} has no value": "{0} 没有值",
    "{0} is not a formula that this page knows": "本页不认识公式 {0}",
    "no such choice": "没有此选项",
    "less than {0} below": "偏低不到 {0}",
    "less than {0} above": "偏高不到 {0}",
    "no bandwidth stated": "未给出带宽",
    "no peak in {0} stated": "未给出 {0} 峰值",
    "{0} {1} is left out: {2}": "{0} {1} 未采用：{2}",
    "{0} on a machine": "{0} 在机器上",
    "the others: {0}": "其余 {0} 项",
    "sizes of one graph are linked: set in one place, they change in all": "同一计算图的尺寸彼此关联："
    "改一处，处处随之改变",
    "{0} against {1}: {2}": "{0} 相对 {1}：{2}",
    "most: {0}, {1}": "最大项：{0}，{1}",
    "all others": "其余",
    "machine": "机器",
    "time of a step": "一步的时间",
    "time of a pass": "一次前向的时间",
    "tokens a second": "每秒词元数",
    "MFU, at most": "MFU，至多",
    "bound by": "受限于",
    "tensor": "矩阵乘法",
    "vector": "其他运算",
    "memory": "显存带宽",
    "time by op": "各运算的时间",
    "forward": "前向",
    "backward": "反向",
    "optimizer": "优化器",
    "step": "一步",
    "whole": "整体",
    "roofline": "屋顶线",
    "intensity, FLOP/byte": "算术强度，FLOP/byte",
    "rate, FLOP/s": "速率，FLOP/s",
    "{0} has no peak in {1}": "{0} 没有 {1} 的峰值",
    "{0} states no rate of other work in {1}: its bytes alone are timed": "{0} 未给出 {1} 其他运算的速率："
    "只计其字节的时间",
    "memory against capacity": "显存占用与容量",
    "fits, {0} to spare": "放得下，余 {0}",
    "does not fit, {0} too much": "放不下，超出 {0}",
    "{0} of {1}": "{0}，容量 {1}",
    "{0} states no capacity": "{0} 未给出容量",
    "nothing takes time": "没有耗时的运算",
    "times are lower bounds: no launch and no communication is in them": "时间为下界：不含启动与通信",
    "{0} states no bandwidth": "{0} 未给出带宽",
    "{0}, other work": "{0}，其他运算",
    "{0} = {1}": "{0} = {1}",
    "above: the choices and the verdict as printed": "上方为印出的选项与结论",
    "dot: an op, its area its share of the time; hollow where memory binds; diamond: the whole": "圆点："
    "一个运算，面积为其时间占比；空心者受限于显存带宽；菱形：整体",
    "share of the time, by what binds": "时间占比，按所受限制",
    "quantities": "各量",
    "claimed": "所称",
    "right": "正确",
    "left side": "左边",
    "right side": "右边",
    "order": "量级",
    "threshold": "临界值",
    "formula": "公式",
    "others": "其余",
    "recompute": "重算",
    "workload": "任务",
    "precision": "精度",
    "checkpoint": "重算方式",
    "saves": "保存的张量",
}
WORDS: Mapping[str, tuple[str, str]] = MappingProxyType(
    {text: (text, said) for text, said in _CHINESE.items()}
)
"""A text of the page, by its English: in English, in Chinese."""
