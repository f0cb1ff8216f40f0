"""A claim file to start from, every key explained."""

TEMPLATE = """\
# A file of claims: symacct prove THIS judges it, symacct sheet THIS -o card.tex makes a sheet of it.
# Each claim is judged anew whenever a sheet is made; a wrong one is shown as refuted, with the right term.
about = "what my model costs"
# about_zh = "我的模型的开销"        # what symacct sheet --lang zh shows in its place
# source = "who states these things, and where"

[[claim]]
# section = "FLOPs"               # a title on the sheet, above this claim and those below it
# section_zh = "计算量"
name = "a chain of layers, exactly"
# name_zh = "逐层相乘，精确值"
# a shipped graph or model (symacct list graphs), or my.py:name from this folder
graph = "deep_linear"
claim = "flops.model = 6*B*D^2*L - 2*B*D^2"
# or refuted, undecided, leading order, upper bound, lower bound, refused, reported
expect = "proved"

[[claim]]
name = "6BD²L is its leading term"
graph = "deep_linear"
claim = "flops.model = 6*B*D^2*L"
grow = "L"                        # what goes to infinity
expect = "leading order"
instead = "flops.model = 6*B*D^2*L - 2*B*D^2"   # the right statement; it must be proved
comment = "the gradient of the first layer's input is never formed"

[[claim]]
name = "AdamW in bf16: 12 bytes a parameter"
graph = "gpt"
claim = "memory.static = 12*params"
# also: precision, workload, saves, checkpoint, grads, update, accumulate, lora
optimizer = "adamw"
expect = "proved"

[[claim]]
name = "6ND"
graph = "gpt"
claim = "flops.model ~ 6*N*D"
let = ["N = params.matmul", "D = tokens"]       # names, and what they stand for
# assume = ["F = 4*D"]            # what sizes satisfy
# at = "B=8,S=1024"               # sizes to put in
grow = "h,L"
expect = "proved"

[[claim]]
name = "70B parameters on 15T tokens, 1024 H100 at half of their peak"
calc = "6 FLOP/(param*token) * 70e9 param * 15e12 token / (1024 * 989.5 TFLOP/s * 50 %)"
to = "day"
value = "144"
within = "0.1 %"

[[claim]]
name = "an MFU of a half is good"
claim = "MFU >= 1/2"
expect = "reported"               # shown as somebody's word, judged by nobody
source = "who says so"
"""
