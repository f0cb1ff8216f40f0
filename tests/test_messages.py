"""What the engine says is a code with arguments: each has its English and its Chinese."""

import ast
import copy
from importlib import resources
from string import Formatter

import pytest

from symacct.account import derive
from symacct.messages import Message, catalogue, said
from symacct.proof.prove import prove
from symacct.readers.files import load


def names_in(text):
    """Return the arguments of a sentence."""
    return {name for _, name, _, _ in Formatter().parse(text) if name}


def calls():
    """Yield every call in the sources, by the name that is called."""
    folders = [resources.files("symacct")]
    for folder in folders:
        for one in folder.iterdir():
            if one.is_dir():
                folders.append(one)
            elif one.name.endswith(".py"):
                for node in ast.walk(ast.parse(one.read_text(encoding="utf-8"))):
                    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                        yield node.func.id, node


@pytest.mark.parametrize("code", catalogue())
def test_both_languages_say_the_same_of_the_same(code):
    """Every argument is in both."""
    sentences = catalogue()[code]
    assert sentences.keys() == {"en", "zh"}
    assert names_in(sentences["en"]) == names_in(sentences["zh"])


def test_every_message_has_a_sentence_and_its_arguments():
    """All that are made in the sources; codes that are put together are those of a few words."""
    made = [node for name, node in calls() if name == "Message" and isinstance(node.args[0], ast.Constant)]
    assert len(made) > 35
    for node in made:
        wanted = names_in(catalogue()[node.args[0].value]["en"])
        assert wanted <= {one.arg for one in node.keywords}, node.args[0].value


def test_no_reason_of_a_decision_is_a_sentence_in_the_code():
    """So that each has its words in every language."""
    reasons = [node.args[1] for name, node in calls() if name == "Decision" and len(node.args) > 1]
    assert len(reasons) > 20
    for one in reasons:
        assert not isinstance(one, ast.JoinedStr)
        assert not (isinstance(one, ast.Constant) and one.value)


def test_a_message_is_its_english_text():
    """It compares, joins and copies as one, and keeps its code."""
    grown = Message("grow_together", sizes=("D", "F"))
    made = Message("ratio_to_one", grown=grown)
    assert made == "the ratio tends to 1 as D, F -> oo together, in fixed proportion"
    assert said(made, "zh") == "当 D、F 按固定比例 → ∞ 时比值趋于 1"
    assert said("something of its own", "zh") == "something of its own"
    same = copy.deepcopy(made)
    assert (same, same.code, same.said("zh")) == (made, "ratio_to_one", made.said("zh"))


@pytest.mark.parametrize(
    ("claim", "code", "words"),
    [
        ("flops.model ~ 6*B*D^2*L", "ratio_to_one", "当 L → ∞ 时比值趋于 1"),
        ("flops.model = 6*B*D^2*L", "differ", "两边不等"),
        ("flops.model = O(B*D^2)", "ratio_grows", "当 L → ∞ 时比值按 L 的幂增长"),
        ("flops.model = 6*B*D^2*L - 2*B*D^2", "same_form", "差的规范形式为 0"),
    ],
)
def test_a_verdict_keeps_the_code_of_its_reason(claim, code, words):
    """And so says it in both languages."""
    reason = prove(derive(load("deep_linear")), claim).decision.reason
    assert (reason.code, said(reason, "zh")) == (code, words)
