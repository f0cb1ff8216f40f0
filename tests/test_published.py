"""Published formulas of single layers and small chains, derived from their graphs.

Sources: CS336 (Stanford, spring 2025, lectures 2 and 10 and assignment 1); How to Scale Your Model (the
scaling book, roofline and transformers chapters); LoRA (arXiv:2106.09685) is in ``test_faults_training``.
"""

from __future__ import annotations

import pytest
from decoders import DECODER, assert_formula, assert_same, core, formula, part

from symacct import Builder, derive, graph, load
from symacct.algebra.leading import leading_term
from symacct.algebra.normal import same
from symacct.convention import convention

LETTERS = {"G": 2, "H": 3, "I": 5, "J": 7, "M": 11, "N": 13, "K": 17, "L": 19}


def product(sizes, equation, left, right, *, weight=False, **choices):
    """Return the account of one contraction."""

    @graph(dict.fromkeys(sizes.split(), ""))
    def contraction(b):
        y = b.weight("y", right) if weight else b.input("y", right, grad=True)
        return b.einsum(equation, b.input("x", left, grad=True), y, label="product")

    return derive(contraction, **choices)


# ---- one contraction ----


@pytest.mark.parametrize(
    ("sizes", "equation", "left", "right", "usual", "strict"),
    [
        ("B D K", "B D, D K -> B K", "B D", "D K", "2*B*D*K", "B*K*(2*D - 1)"),
        ("B D F", "B D, D F -> B F", "B D", "D F", "2*B*D*F", "B*F*(2*D - 1)"),
        ("P", "P, P ->", "P", "P", "2*P", "2*P - 1"),
        ("N P", "N P, P -> N", "N P", "P", "2*N*P", "N*(2*P - 1)"),
        (
            "G H I J K L M N", "G H I J K L, G H M N K L -> G H I J M N", "G H I J K L", "G H M N K L",
            "2*G*H*I*J*M*N*K*L", "G*H*I*J*M*N*(2*K*L - 1)",
        ),
        ("N P", "N, P -> N P", "N", "P", "0", "0"),
    ],
)  # fmt: skip
def test_a_contraction_costs_two_per_point(sizes, equation, left, right, usual, strict):
    """2BDK, 2NP, 2 for each point of eight axes; strictly n - 1 additions; no sum, no contraction."""
    account = product(sizes, equation, left, right)
    assert_formula(account, "flops.forward", usual)
    assert_formula(product(sizes, equation, left, right, convention="strict"), "flops.forward", strict)
    if usual == "0":
        assert_formula(account, "flops.forward.all", "N*P")
    else:
        assert_formula(account, "flops.backward", f"2*({usual})")
        assert_formula(account, "flops.model", f"3*({usual})")


def test_numbers_of_a_contraction():
    """33,554,432 FLOP (B = 1024, D = 256, K = 64), and eight axes of different sizes."""
    words = ("B D K", "B D, D K -> B K", "B D", "D K")
    assert product(*words).value("flops.forward", {"B": 1024, "D": 256, "K": 64}) == 33_554_432
    eight = ("G H I J K L M N", "G H I J K L, G H M N K L -> G H I J M N", "G H I J K L", "G H M N K L")
    points = 1
    for size in LETTERS.values():
        points *= size
    assert product(*eight).value("flops.forward", LETTERS) == 2 * points


def test_the_strict_count_tends_to_the_usual_one():
    """Their ratio is 1 - 1/(2D)."""
    words = ("B D F", "B D, D F -> B F", "B D", "D F")
    usual, strict = product(*words), product(*words, convention="strict")
    ratio = (strict["flops.forward"] / usual["flops.forward"]).expr
    assert_same(usual, ratio, "1 - 1/(2*D)")


def test_an_elementwise_sum_costs_one_per_element():
    """m*n for two matrices."""
    b = Builder("add", "m n")
    account = derive(b.build(b.input("x", "m n") + b.input("y", "m n")))
    assert_formula(account, "flops.forward.all", "m*n")
    assert account["flops.forward"].expr == 0


def test_the_backward_pass_of_a_product_is_two_products():
    """4NPM behind 2NPM: 6NPM, each of the two gradients 2NPM."""
    account = product("N P M", "N P, P M -> N M", "N P", "P M", weight=True, input_grad=True)
    assert_formula(account, "flops.backward", "4*N*P*M")
    assert_formula(account, "flops.model", "6*N*P*M")
    terms = account.terms("flops.backward")
    assert len(terms) == 2
    for term in terms:
        assert_same(account, term.expr, "2*N*P*M")


# ---- chains ----


@pytest.mark.parametrize(
    ("input_grad", "backward"), [(True, "4*B*D^2 + 4*B*D*K"), (False, "2*B*D^2 + 4*B*D*K")]
)
def test_two_layers(input_grad, backward):
    """6B(D^2 + DK) holds where the gradient of the input is formed too, as the lecture counts it."""
    account = derive(load("two_layer"), input_grad=input_grad)
    assert_formula(account, "flops.forward", "2*B*D^2 + 2*B*D*K")
    assert_formula(account, "flops.backward", backward)
    whole = account["flops.model"].expr
    assert same(whole, formula(account, "6*B*(D^2 + D*K)")) == input_grad


def test_a_chain_of_layers():
    """6BD^2L is exact with the input's gradient, and the leading term without."""
    assert_formula(derive(load("deep_linear"), input_grad=True), "flops.model", "6*B*D^2*L")
    account = derive(load("deep_linear"))
    assert_formula(account, "flops.model", "6*B*D^2*L - 2*B*D^2")
    assert_same(account, leading_term(account["flops.model"].expr, {"L"})[0], "6*B*D^2*L")


# ---- parts of a layer ----


def test_a_gated_feed_forward_layer():
    """18BTDF of training and 3DF parameters."""
    account = derive(load("swiglu"), input_grad=True)
    assert_formula(account, "flops.model", "18*B*S*D*F")
    assert_formula(account, "params", "3*D*F")
    assert_formula(derive(load("swiglu")), "flops.model", "18*B*S*D*F - 4*B*S*D*F")


def test_projections_of_attention():
    """24BTDNH of training and 4DNH parameters; 12BTSNH between activations."""
    account = derive(load("attention"), input_grad=True)
    projections = part(account, "flops.model", "q/", "k/", "v/", "o/")
    assert_same(account, projections, "24*B*S*D*H*K")
    assert_formula(account, "params", "4*D*H*K")
    assert_same(account, account["flops.model"].expr - projections, "12*B*S^2*H*K")


def test_products_of_attention_with_two_lengths():
    """12BTSNH, where queries and keys differ in number; forward a third of it."""

    @graph({n: DECODER[n] for n in "BSTHK"})
    def attention(b):
        q = b.input("q", "B S H K", grad=True)
        k, v = (b.input(name, "B T H K", grad=True) for name in "kv")
        return b.attention(q, k, v, causal=False)

    account = derive(attention)
    assert_formula(account, "flops.model", "12*B*S*T*H*K")
    assert_formula(account, "flops.forward", "4*B*S*T*H*K")


def test_a_layer_by_its_parameters():
    """18BTDF + 24BTDNH = 6 BT (3DF + 4DNH): six per token and parameter, the scores apart."""
    mlp, attention = (derive(load(name), input_grad=True) for name in ("swiglu", "attention"))
    apart = derive(load("attention"), input_grad=True, convention=convention(attention="none"))
    for account in (mlp, apart):
        by_parameter = (account["flops.model"] / account["tokens"] / account["params"]).expr
        assert by_parameter == 6
    assert_same(core(), attention["flops.model"].expr - apart["flops.model"].expr, "12*B*S^2*H*K")


# ---- the update ----


@pytest.mark.parametrize(("optimizer", "each"), [("adamw", 14), ("sgd", 2), ("adam", 12), ("momentum", 4)])
def test_an_update_costs_by_parameter(optimizer, each):
    """14 for AdamW: 3 and 4 for the moments, 2 for the root, 3 for the step, 2 for the decay."""
    account = derive(load("gpt"), optimizer=optimizer)
    assert same(account["flops.optimizer"].expr, each * account["params"].expr)


# ---- norms ----


def test_two_layer_norms_have_four_vectors():
    """8h a layer is printed for the norms; derived is 4h, and 13h with the biases of the linear layers.

    Source: EleutherAI/cookbook, calc/calc_transformer_mem.py (``8*h*L + 2*h``), which is neither.
    """
    account = derive(load("gpt"))
    layers = [term for term in account.terms("params") if term.path]
    norms = sum(t.expr for t in layers if "norm" in t.label) + part(account, "params", "norm/")
    assert_same(account, norms, "4*h*L + 2*h")
    assert not same(norms, formula(account, "8*h*L + 2*h"))
    vectors = sum(t.expr for t in layers if len(t.note.strip("[]").split()) == 1)
    assert_same(account, vectors, "13*h*L")
