"""The fixed words of a sheet, in English and in Chinese. Names and comments of users stay as they are."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from symacct.sheet.chinese import worded

if TYPE_CHECKING:
    from collections.abc import Mapping

_FIXED = {
    "quantity": "量",
    "formula": "公式",
    "holds when": "成立条件",
    "worth": "结论",
    "source": "来源",
    "right": "正确",
    "symbols": "符号",
    "meaning": "含义",
    "symbol and unit": "符号与单位",
    "least": "最小值",
    "example": "示例",
    "examples at": "示例取",
    "claims": "论断",
    "derived": "推导",
    "proved": "已证",
    "leading order": "主项",
    "upper bound": "上界",
    "lower bound": "下界",
    "refuted": "不成立",
    "undecided": "未决",
    "refused": "不予判定",
    "computed": "计算",
    "reported": "转述",
    "as ": "当 ",
    " in fixed proportion": "（比例固定）",
    ": a size, not a unit": "：尺寸，不是单位",
    " if ": "，若 ",
    " where ": "，其中 ",
    "; comes to ": "；算得 ",
    ", e.g. at ": "，反例 ",
    "; for ": "；",
    " within ": " 时误差 ≤ ",
    ": ": "：",
    "; ": "；",
    ", ": "，",
    "peak / bandwidth": "峰值/带宽",
    "a longer formula; symacct prove shows it": "公式较长，见 symacct prove",
    "machine": "机器",
    "machines": "机器",
    "memory bandwidth": "显存带宽",
    "memory": "显存",
    "power": "功率",
    "peak": "峰值",
    "vector rate": "向量速率",
    "link": "互连",
    "dense": "稠密",
    "sparse": "稀疏",
    "by op": "按运算",
    "parameters and tokens": "参数与词元",
    "work": "计算量",
    "bytes moved": "搬运的字节",
    " term": " 项",
    " terms": " 项",
    " over ": "比 ",
    " shows them": " 列出各项",
    "graph": "计算图",
    "convention": "约定",
    "16 bits": "16 位",
    "vector fp32": "向量 fp32",
    "ridge": "拐点",
    "nominal GB": "标称 GB",
    "format": "格式",
    "bits": "位数",
    "e + m, bias": "e + m，偏置",
    "largest": "最大值",
    "smallest normal": "最小规格化数",
    "smallest subnormal": "最小非规格化数",
    "special": "特殊值",
    "NaN, no −0": "NaN，无 −0",
    "NaN, no 0": "NaN，无 0",
    "inf, NaN": "inf，NaN",
    "block format": "分块格式",
    "bits an element": "每元素位数",
    "elements": "元素",
    "scale": "缩放因子",
    "largest element": "最大元素",
    "10⁹ elements": "10⁹ 个元素",
}
LEGEND = {
    "en": "Derived or judged, and read back, when this was made. proved: for all sizes under the conditions, "
    "or in the limit named; leading order, upper or lower bound: not exact, the right term follows; "
    "reported: stated by the source, judged by nobody here. FLOP: 2 per multiply-add; GB = 10⁹ byte; "
    "bf16 unless said.",
    "zh": "每个公式都在生成时推导或判定，并读回核对。已证：在所列条件下对一切尺寸（或在所列极限下）成立；"
    "主项、上界、下界：并不精确，"
    "其后为正确公式；转述：出自来源，此处未判定。一次乘加为 2 FLOP；GB = 10⁹ byte；未注明时为 bf16。",
}
_QUANTITIES = {
    "params": "全部参数",
    "params.trainable": "可训练参数",
    "params.active": "一个词元用到的参数",
    "params.matmul": "参与矩阵乘法的参数",
    "params.nonembedding": "除词嵌入与位置嵌入外的参数",
    "tokens": "一次前向的词元数",
    "flops.forward.matmul": "前向计算量：矩阵乘法",
    "flops.backward.matmul": "反向计算量：矩阵乘法",
    "flops.recompute.matmul": "重算计算量：矩阵乘法",
    "flops.model.matmul": "前向与反向，不含重算：矩阵乘法",
    "flops.hardware.matmul": "前向与反向，含重算：矩阵乘法",
    "flops.forward": "前向计算量：矩阵乘法",
    "flops.backward": "反向计算量：矩阵乘法",
    "flops.recompute": "重算计算量：矩阵乘法",
    "flops.model": "前向与反向，不含重算：矩阵乘法",
    "flops.hardware": "前向与反向，含重算：矩阵乘法",
    "flops.forward.all": "前向计算量：全部运算",
    "flops.backward.all": "反向计算量：全部运算",
    "flops.recompute.all": "重算计算量：全部运算",
    "flops.model.all": "前向与反向，不含重算：全部运算",
    "flops.hardware.all": "前向与反向，含重算：全部运算",
    "flops.optimizer": "优化器一步的计算量",
    "flops.optimizer.all": "优化器一步的计算量",
    "flops.optimizer.matmul": "优化器一步的计算量：矩阵乘法",
    "bytes.forward": "前向搬运的字节",
    "bytes.backward": "反向搬运的字节",
    "bytes.step": "一步训练搬运的字节",
    "intensity.forward": "前向的算术强度",
    "intensity.step": "一步训练的算术强度",
    "memory.parameters": "参数",
    "memory.gradients": "梯度",
    "memory.master": "优化器更新的参数副本",
    "memory.optimizer": "优化器状态",
    "memory.static": "参数、梯度、副本与优化器状态",
    "memory.data": "不保存的输入",
    "memory.activations": "前向结束时保存的激活",
    "memory.activations.peak": "反向中同时存活的激活（含重算）的最大值",
    "memory.peak": "峰值时刻的全部显存",
    "memory.transient": "峰值中不属于上述各类的部分",
    "memory.kv_cache": "键值缓存",
    "memory.kv_cache.token": "每个词元的键值缓存",
}
CHINESE: Mapping[str, str] = MappingProxyType(_FIXED)
QUANTITIES: Mapping[str, str] = MappingProxyType(_QUANTITIES)


def word(text: str, lang: str) -> str:
    """Return a fixed word in a language; any other text as it is.

    >>> word("proved", "zh"), word("proved", "en"), word("my own", "zh")
    ('已证', 'proved', 'my own')
    """
    if lang != "zh":
        return text
    return CHINESE[text] if text in CHINESE else worded(text)
