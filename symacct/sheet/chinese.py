"""Choices, amounts, sources and what stands below a row, in Chinese where the words are the program's.

Values of flags that are names (``adamw``, ``bf16-master``, ``kaplan``) and free text stay as they are.
"""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING

from symacct.messages import said as worded_message

if TYPE_CHECKING:
    from symacct.sheet.data import Row

CHOICES = {
    "train": "训练",
    "forward": "前向",
    "prefill": "预填充",
    "decode": "解码",
    "paper": "按论文口径保存",
    "workload": "任务",
    "precision": "精度",
    "optimizer": "优化器",
    "convention": "约定",
    "accumulate": "梯度累积",
    "lora": "LoRA",
    "attention full": "注意力计全部词元对",
    "attention half": "注意力计一半词元对",
    "attention exact": "注意力按掩码精确计",
    "attention none": "不计注意力乘积",
    "bytes algorithmic": "字节按运算计",
    "bytes issued": "字节按每点读取计",
    "bytes fused": "字节按融合后计",
    "bytes compulsory": "只计必要字节",
    "saves backward": "保存反向所需",
    "saves torch": "按 PyTorch 保存",
    "saves paper": "按论文口径保存",
    "saves lecture": "按课程口径保存",
    "embedding free": "查表不计",
    "embedding onehot": "查表按独热乘积计",
    "grads fresh": "梯度每步新建",
    "grads kept": "梯度常驻",
    "gradients kept": "梯度常驻",
    "update separate": "更新单独进行",
    "update fused": "更新并入反向",
    "input gradient": "含输入梯度",
    "input gradients formed": "含输入梯度",
    "output held": "保留输出",
    "cotangents given": "给定输出的梯度",
    "leading term only": "只取主项",
    "checkpoint none": "不重算",
    "checkpoint sqrt": "重算，√L 段",
    "checkpoint store-nothing": "重算，不保存激活",
    "no fp32 copy of the parameters": "无 fp32 参数副本",
    "packed: blocks and bytes not padded": "紧凑存储，分块与字节均不补齐",
}
EVERY = re.compile(r"checkpoint every:(\w+)(:full)?")
SELECTIVE = re.compile(r"checkpoint selective:([\w+/.-]+?)(:full)?")
COUNTED = re.compile(r"(\d+) micro-batches")
BRACKETED = re.compile(r"(.+?) \((.+)\)")
UNITS = {
    "day": "天", "year": "年", "hour": "小时", "minute": "分钟", "second": "秒", "step": "步",
    "token": "词元", "param": "参数", "parameter": "参数",
}  # fmt: skip
AMOUNT = re.compile(r"(?:[-≈= ]*[0-9][0-9.,e+-]*| \[)[^\n一-鿿]*")
NAMED_UNIT = re.compile(rf"(?<![\w.])({'|'.join(UNITS)})(?![\w.])")
CITED = (
    (r", equations? ([\d.]+)", "，式（{0}）"),
    (r", sections ([\d.]+) and ([\d.]+)", "，第 {0}、{1} 节"),
    (r", section ([\d.]+)", "，第 {0} 节"),
    (r", tables? ([\w.]+)", "，表 {0}"),
    (r", figures? ([\d.]+)", "，图 {0}"),
    (r", appendix (\w+)", "，附录 {0}"),
    (r", theorem ([\d.]+)", "，定理 {0}"),
    (r", question (\d+)", "，习题 {0}"),
    (r", spring (\d+)", "，{0} 年春"),
    (r", lecture (\d+)", "，第 {0} 讲"),
    (r", assignment (\d+)", "，作业 {0}"),
    (r", table of TPUs", "，TPU 表"),
    (r" data sheet", " 数据手册"),
    (r" documentation\b", " 文档"),
    (r", white paper v(\d+)", "，白皮书 v{0}"),
    (r" on GitHub, (\d+)", "，GitHub {0}"),
    (r", code\b", "，代码"),
    (r" on an? ([A-Z]\w+)$", "（{0}）"),
)  # fmt: skip


def choice(text: str) -> str:
    """Return a choice in Chinese; a name of a flag's value as it is.

    >>> choice("attention exact"), choice("checkpoint every:k:full"), choice("adamw")
    ('注意力按掩码精确计', '重算，每 k 层一段，全部重做', 'adamw')
    """
    if text in CHOICES:
        return CHOICES[text]
    if found := EVERY.fullmatch(text):
        return f"重算，每 {found[1]} 层一段" + ("，全部重做" if found[2] else "")
    if found := SELECTIVE.fullmatch(text):
        return f"重算 {found[1]}" + ("，全部重做" if found[2] else "")
    if found := COUNTED.fullmatch(text):
        return f"{found[1]} 个微批"
    key, _, value = text.partition(" ")
    return (
        f"{CHOICES[key]} {choice(value) if value in CHOICES else value}" if key in CHOICES and value else text
    )


def described(text: str) -> str:
    """Return choices that stand one after another, and what is said in brackets.

    >>> described("workload train, precision bf16 (no fp32 copy of the parameters), saves backward")
    '任务 训练，精度 bf16（无 fp32 参数副本），保存反向所需'
    >>> described("default (attention full)")
    'default（注意力计全部词元对）'
    """
    parts = []
    for part in re.split(r", (?![^(]*\))", text):
        found = BRACKETED.fullmatch(part)
        if found:
            inner = "，".join(map(choice, found[2].split(", ")))
            parts.append(f"{choice(found[1])}（{inner}）")
        else:
            parts.append(choice(part))
    return "，".join(parts)


def worded(text: str) -> str:
    """Return an amount, or a choice, in Chinese; any other text as it is.

    >>> worded("143.9 day"), worded("53.3e9 param"), worded(" [parameter]"), worded("one day")
    ('143.9 天', '53.3e9 参数', ' [参数]', 'one day')
    """
    if AMOUNT.fullmatch(text):
        return NAMED_UNIT.sub(lambda found: UNITS[found[1]], text)
    return choice(text)


def cited(text: str) -> str:
    """Return a source with the words of citations in Chinese; names and titles stay.

    >>> cited("OCP OFP8 1.0, section 5"), cited("NVIDIA H100 data sheet, 2024; A100 data sheet")
    ('OCP OFP8 1.0，第 5 节', 'NVIDIA H100 数据手册，2024；A100 数据手册')
    """
    for pattern, said in CITED:
        text = re.sub(pattern, partial(_filled, said), text)
    return text.replace("; ", "；").replace("手册, ", "手册，")


def _filled(said: str, found: re.Match[str]) -> str:
    return said.format(*found.groups())


def notes(row: Row, style: str, lang: str) -> str:
    """Return what stands below a row, with the fixed words in the language of the sheet."""
    if lang != "zh":
        return row.notes(style)
    found = row.noted(style)
    return "；".join(cited(one) if one == row.source else worded_message(one, lang) for one in found)


__all__ = ["choice", "cited", "described", "notes", "worded"]
