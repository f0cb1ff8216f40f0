"""Every op, each in one place; adding one touches its file and this list."""

from symacct.ops.attention import FusedAttention
from symacct.ops.attention_grad import FusedAttentionGrad
from symacct.ops.cache import Cached
from symacct.ops.cast import Cast
from symacct.ops.dropout import Dropout, DropoutGrad
from symacct.ops.einsum import Einsum
from symacct.ops.elementwise import Elementwise
from symacct.ops.grouped import GroupedMatmul
from symacct.ops.grouped_grad import GroupedWeightGrad
from symacct.ops.join import Concatenate, Pad, Slice
from symacct.ops.lookup import Embedding, EmbeddingGrad
from symacct.ops.loss import CrossEntropy, CrossEntropyGrad
from symacct.ops.norm import LayerNorm, RMSNorm
from symacct.ops.norm_grad import NormGrad, NormWeightGrad
from symacct.ops.optimizer import Update
from symacct.ops.reduce import Expand, Reduce
from symacct.ops.reduce_grad import MaxGrad, MeanGrad
from symacct.ops.rotary import Rotary
from symacct.ops.route import TopK, TopKGrad
from symacct.ops.softmax import LogSoftmax, LogSoftmaxGrad, Softmax, SoftmaxGrad
from symacct.ops.tiled import Load, Store
from symacct.ops.transpose import Transpose
from symacct.ops.view import Keys, Rearrange

OPS = (
    Cached, Cast, Concatenate, CrossEntropy, CrossEntropyGrad, Dropout, DropoutGrad, Einsum,
    Elementwise, Embedding, EmbeddingGrad, Expand, FusedAttention, FusedAttentionGrad, GroupedMatmul,
    GroupedWeightGrad, Keys, LayerNorm, Load, LogSoftmax, LogSoftmaxGrad, MaxGrad,
    MeanGrad, NormGrad, NormWeightGrad, Pad, RMSNorm, Rearrange, Reduce, Rotary, Slice, Softmax,
    SoftmaxGrad, Store, TopK, TopKGrad, Transpose, Update,
)  # fmt: skip
"""All op classes, by name in alphabetical order."""
