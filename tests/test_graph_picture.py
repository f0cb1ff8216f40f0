"""The picture of a graph: costs on nodes add up, boxes do not overlap, files are the same and valid."""

from __future__ import annotations

import re
from fractions import Fraction
from itertools import combinations, pairwise
from xml.etree import ElementTree as ET

import pytest

from symacct import Builder, derive, load
from symacct.algebra.normal import same, total
from symacct.cli.main import main
from symacct.errors import LimitError
from symacct.nodes import Repeat, walk
from symacct.plot import graph as pictures
from symacct.plot.graph_boxes import Box, Text, cells, folded
from symacct.plot.graph_costs import ELSEWHERE, costs
from symacct.plot.graph_layout import Edge, layered
from symacct.plot.graph_scene import drawn as laid_out
from symacct.plot.graph_svg import svg
from symacct.plot.graph_words import Labels, readers
from symacct.readers.files import list_graphs, list_models

SVG = "{http://www.w3.org/2000/svg}"
GRAPHS = [row.name for row in list_graphs()]
QUANTITIES = ("flops.model", "flops.hardware.all", "flops.optimizer", "bytes.step", "params",
              "memory.static", "memory.activations", "memory.data")  # fmt: skip
LARGE = ("gpt", "llama", "mla", "moe", "nanogpt", "tiled_attention", "lora")
CHOICES = ({}, {"optimizer": "adamw", "precision": "bf16-master"}, {"workload": "forward"},
           {"optimizer": "adam8bit", "checkpoint": "every:1"})  # fmt: skip


def scene(account, quantity="flops.model", sizes=None):
    """Return the piece that is drawn."""
    found = pictures.placed(account, quantity, sizes or {})
    unit = str(account[quantity].unit)
    return laid_out(Labels(account.graph, found, unit, readers(account.graph)))


def small(account):
    """Return sizes that go with each other."""
    return dict.fromkeys(account.graph.order, 8)


# ---- costs ----


@pytest.mark.few(1)
@pytest.mark.parametrize("name", GRAPHS)
def test_costs_on_nodes_add_up(name):
    """Exactly, as formulas, for every shipped graph; nothing is left without a node."""
    repeats = any(isinstance(node, Repeat) for node, _ in walk(load(name).nodes))
    for choices in CHOICES:
        if "checkpoint" in choices and not repeats:
            continue
        account = derive(load(name), **choices)
        for quantity in QUANTITIES:
            if account.has(quantity):
                found = costs(account, quantity)
                assert same(total(found.values()), account[quantity].expr), (choices, quantity)
                assert ELSEWHERE not in found
                assert found.keys() <= {box.name for box in scene(account, quantity).boxes} | {
                    node.label for node, _ in walk(account.graph.nodes)
                }


def test_costs_of_a_chain():
    """Known by hand: L products of B rows, twice as much backward but for the first; ReLU once each way."""
    found = pictures.placed(derive(load("mlp")), "flops.model.all", {"B": 2, "D": 3, "L": 4})
    product, relu = found["layers/matmul"], found["layers/relu"]
    assert product.value == (6 * 4 - 2) * 2 * 9
    assert relu.value == 3 * 2 * 3 * 4
    assert product.share + relu.share == 1
    assert product.share == Fraction(396, 396 + 72)


def test_an_update_counts_for_its_parameter():
    """And what is added up over uses of a tied table for the table."""
    account = derive(load("gpt"), optimizer="adamw")
    assert set(costs(account, "flops.optimizer")) == set(account.graph.weights)
    assert "embedding/tokens" in costs(account, "flops.model.all")


def test_without_a_bias_its_box_is_gone():
    """One box and one op fewer, and their cost."""

    def layer(*, bias):
        b = Builder("layer", "B D F")
        return b.build(b.relu(b.linear(b.input("x", "B D"), "D -> F", name="up", bias=bias)))

    with_, without = (scene(derive(layer(bias=bias)), "flops.model.all").boxes for bias in (True, False))
    gone = {box.name for box in with_} - {box.name for box in without}
    assert gone == {"up/bias", "up/add"}


def test_what_has_no_node_is_said():
    """Terms that belong to nothing drawn stand over the picture."""
    account = derive(load("mlp"))
    found = {ELSEWHERE: pictures.Cost(account["flops.model"].expr)}
    said = [line.said for line in pictures._lines(account, "flops.model", {}, found)]
    assert "on no node: 6*B*D^2*L - 2*B*D^2 FLOP" in said


# ---- what is drawn ----


@pytest.mark.few(10)
@pytest.mark.parametrize("name", GRAPHS)
def test_each_op_and_tensor_from_outside_has_one_box(name):
    """Ops, inputs, parameters, tables; each repeat has a frame."""
    account = derive(load(name))
    part = scene(account)
    drawn = [box.name for box in part.boxes if box.kind != "port"]
    nodes = [node for node, _ in walk(account.graph.nodes)]
    sources = {name for name, t in account.graph.tensors.items() if t.role not in ("activation", "gradient")}
    ops = {node.label for node in nodes if not isinstance(node, Repeat)}
    assert len(drawn) == len(set(drawn))
    assert set(drawn) == ops | sources
    assert {frame.name for frame in part.frames} == {n.label for n in nodes if isinstance(n, Repeat)}


@pytest.mark.few(4)
@pytest.mark.parametrize("name", GRAPHS)
def test_boxes_do_not_overlap_and_hold_their_text(name):
    """Boxes keep apart, in their frames and in the picture; no line is wider than its box."""
    account = derive(load(name))
    for quantity, sizes in (("flops.model.all", {}), ("bytes.step", small(account))):
        part = scene(account, quantity, sizes)
        for one, two in combinations(part.boxes, 2):
            assert apart(one, two), (one.name, two.name)
        for box in part.boxes:
            assert min(box.x, box.y) >= 0
            assert box.x + box.width <= part.width + 0.2
            assert box.y + box.height <= part.height + 0.2
            assert all(text.width <= box.width for text in box.texts)
            for frame in part.frames:
                assert inside(box, frame) or apart(box, frame), (box.name, frame.name)
                head = sum(text.height for text in frame.texts)
                assert not inside(box, frame) or box.y >= frame.y + head
        assert all(text.width <= frame.width for frame in part.frames for text in frame.texts)


@pytest.mark.few(4)
@pytest.mark.parametrize("name", LARGE)
def test_wires_do_not_cross_boxes(name):
    """Straight parts of the wires of data run between boxes; ends lie on boxes and frames."""
    part = scene(derive(load(name)))
    for wire in part.wires:
        if wire.kind == "data":
            for (x, top), (same_x, bottom) in zip(wire.points[::2], wire.points[1::2], strict=True):
                assert x == same_x
                for box in part.boxes:
                    across = box.x < x < box.x + box.width
                    assert not (across and max(top, box.y) < min(bottom, box.y + box.height) - 0.1)
    carried = {wire.name for wire in part.wires if wire.kind == "data"}
    assert carried


def apart(one, two):
    """Return whether two rectangles do not overlap."""
    return (
        one.x + one.width <= two.x + 0.1 or two.x + two.width <= one.x + 0.1
        or one.y + one.height <= two.y + 0.1 or two.y + two.height <= one.y + 0.1
    )  # fmt: skip


def inside(box, frame):
    """Return whether a box lies in a frame."""
    return (
        frame.x <= box.x and box.x + box.width <= frame.x + frame.width
        and frame.y <= box.y and box.y + box.height <= frame.y + frame.height
    )  # fmt: skip


def test_a_drawing_of_many_layers():
    """Every edge leads down, by rows; items of one row keep their gap."""
    names = [f"n{i}" for i in range(40)]
    edges = [Edge(names[i // 2], names[i], 10, 10) for i in range(1, 40)]
    edges += [Edge("n0", name, 20, 5) for name in names[20:30]]
    drawing = layered(dict.fromkeys(names, (30.0, 20.0)), edges)
    for edge, route in zip(edges, drawing.routes, strict=True):
        assert drawing.places[edge.tail][1] < drawing.places[edge.head][1]
        assert [y for _, y in route] == sorted(y for _, y in route)
        assert route[0][0] == drawing.places[edge.tail][0] + edge.leaves
        assert route[-1] == (drawing.places[edge.head][0] + edge.enters, drawing.places[edge.head][1])
    spots = sorted(drawing.places.values(), key=lambda spot: (spot[1], spot[0]))
    for (x, y), (next_x, next_y) in pairwise(spots):
        assert y != next_y or next_x - x >= 30 + 18 - 0.1


# ---- the file ----


@pytest.mark.few(2)
@pytest.mark.parametrize("name", [*LARGE, "relu", "two_layer"])
def test_the_file_is_valid_and_the_same(name, tmp_path):
    """XML with a title and a description; drawn twice, byte for byte."""
    account = derive(load(name))
    paths = [tmp_path / "one.svg", tmp_path / "two.svg"]
    for path in paths:
        pictures.draw(derive(load(name)), "flops.model.all", small(account), path)
    assert paths[0].read_bytes() == paths[1].read_bytes()
    root = ET.parse(paths[0]).getroot()  # noqa: S314 - made just now
    assert root.tag == f"{SVG}svg"
    assert root.get("role") == "img"
    assert root.get("aria-labelledby").split() == [root[0].get("id"), root[1].get("id")]
    assert [root[0].tag, root[1].tag] == [f"{SVG}title", f"{SVG}desc"]
    assert "The largest parts: " in root[1].text
    style = root.find(f"{SVG}style").text
    assert "prefers-color-scheme:dark" in style
    text = paths[0].read_text(encoding="utf-8")
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)|url\((?!#)|<script|<image", text)


def test_every_class_has_colours_for_light_and_dark():
    """No shade is left to the default of a viewer."""
    text = pictures.picture(derive(load("gpt")), "flops.model", small(derive(load("gpt"))))
    style = text[text.index("<style>") : text.index("</style>")]
    light, _, dark = style.partition("@media")
    filled = {word for found in re.findall(r'<rect class="([^"]+)"', text) for word in found.split()}
    for word in filled - {"box", "outside", "around"}:
        for table in (light, dark):
            assert re.search(rf"\.{word}[,{{][^}}]*fill", table), word


def contrast(one, two):
    """Return the ratio of contrast of two colours, as WCAG 2 defines it."""

    def light(colour):
        parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
        red, green, blue = (p / 12.92 if p <= 0.03928 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    high, low = sorted((light(one), light(two)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def test_text_stands_out():
    """At least 4.5 to 1 on every shade, in light and in dark."""
    from symacct.plot.graph_svg import DARK, DARKER, LIGHT

    for table in (LIGHT, DARK):
        for step in range(6):
            assert contrast(table["ink"], table[str(step)]) >= 4.5
            assert step >= DARKER or contrast(table["faint"], table[str(step)]) >= 4.5
        for paper in ("paper", "pale", "frame", "nested"):
            assert contrast(table["faint"], table[paper]) >= 4.5


def test_text_from_a_user_is_escaped():
    """Marks of XML, and characters that it has none of."""
    text = svg(
        laid_out(Labels(load("relu"), {}, "FLOP", readers(load("relu")))),
        "<b>&\x00\ud800", [Text('a<b>"&', "title")], "</desc><script>", shaded=False,
    )  # fmt: skip
    root = ET.fromstring(text.encode("utf-8"))  # noqa: S314
    assert root[1].text == "</desc><script>"
    assert root[0].text == "<b>&  "
    assert not root.findall(f".//{SVG}script")


def test_a_long_name_is_cut_at_its_beginning():
    """The whole is in the title of the box."""
    b = Builder("long", "B D")
    word = "a_very_long_name_of_a_region"
    long = f"{word}/{word}"
    with b.region(word), b.region(word):
        y = b.relu(b.input("x", "B D"))
    (box,) = (one for one in scene(derive(b.build(y))).boxes if one.kind == "op")
    assert box.texts[0].said.startswith("…")
    assert box.texts[0].said.endswith("relu")
    assert cells(box.texts[0].said) <= 36
    assert box.about.startswith(f"{long}/relu: relu")


def test_a_long_formula_is_folded():
    """At its signs, and marked where it goes on."""
    formula = " + ".join(f"{n}ABC" for n in range(100, 160))
    lines = folded(formula)
    assert len(lines) == 6
    assert lines[-1].endswith(" …")
    assert all(cells(line) <= 36 for line in lines)
    assert folded("x" * 100) == ("x" * 36, "x" * 36, "x" * 28)
    assert (
        Box("a", "op", (Text("字" * 10, "name"),), "").width
        > Box("a", "op", (Text("z" * 19, "name"),), "").width
    )


def test_shipped_models_are_drawn():
    """With their own sizes, at B and S."""
    for name in ("gpt2", "llama-3-8b"):
        assert name in [row.name for row in list_models()]
        text = pictures.picture(derive(load(name)), "flops.model", {"B": 1, "S": 1024})
        assert "layers × " in text
        assert "GFLOP (" in text


def test_a_graph_shows_itself(monkeypatch):
    """In a notebook, as it is drawn without sizes; where it cannot be drawn, as text alone."""
    graph = load("mlp")
    assert graph._repr_svg_() == pictures.picture(derive(graph), "flops.model")
    monkeypatch.setattr(pictures, "MOST_NODES", 2)
    assert graph._repr_svg_() is None


# ---- on the command line ----


def test_the_command(tmp_path, capsys):
    """The page is written as without it, and the picture beside."""
    assert main(["show", "mlp"]) == 0
    page = capsys.readouterr().out
    path = tmp_path / "graph.svg"
    assert main(["show", "mlp", "--picture", str(path), "--at", "B=2,D=3,L=4"]) == 0
    assert capsys.readouterr().out == page
    assert path.read_text(encoding="utf-8") == pictures.picture(
        derive(load("mlp")), "flops.model", {"B": 2, "D": 3, "L": 4}
    )


def test_the_command_with_choices(tmp_path):
    """A quantity, a policy, a convention."""
    path = tmp_path / "graph.svg"
    words = ["--quantity", "bytes.step", "--optimizer", "adamw", "--bytes", "issued"]
    assert main(["show", "mlp", *words, "--picture", str(path)]) == 0
    text = path.read_text(encoding="utf-8")
    assert "bytes.step" in text
    assert "bytes issued" in text
    assert "optimizer adamw" in text


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--picture", "x.png"], ["the picture of a graph is SVG", "got       .png"]),
        (["--picture", "x"], ["the picture of a graph is SVG", "got       no ending"]),
        (["--picture", "x.svg", "--quantity", "flops.modell"], ["did you mean 'flops.model'?"]),
        (["--picture", "x.svg", "--quantity", "memory.peak"], ["memory.peak is no sum of terms"]),
        (["--picture", "x.svg", "--quantity", "intensity.step"], ["intensity.step is no sum of terms"]),
        (["--picture", "x.svg", "--at", "B=2"], ["a picture needs every size: D, L"]),
        (["--picture", "x.svg", "--at", "Q=2"], ["unknown size 'Q'"]),
        (["--picture", "missing/x.svg"], ["a picture cannot be written", "missing/x.svg"]),
        (["--picture", "x.svg", "--source"], ["--source draws nothing"]),
        (["--at", "B=2"], ["--at is for a picture"]),
        (["--quantity", "params"], ["--quantity is for a picture"]),
        (["--convention", "palm"], ["--convention is for a picture"]),
    ],
)
def test_refusals(words, said, capsys, tmp_path, monkeypatch):
    """Exit status 2, what is wrong, and no file."""
    monkeypatch.chdir(tmp_path)
    assert main(["show", "mlp", *words]) == 2
    complaint = capsys.readouterr().err
    assert not [one for one in said if one not in complaint]
    assert not list(tmp_path.iterdir())


def test_refusals_of_the_functions(monkeypatch):
    """A graph that is too large, in nodes and in edges that pass rows."""
    account = derive(load("mlp"))
    monkeypatch.setattr(pictures, "MOST_NODES", 2)
    with pytest.raises(LimitError, match="graph mlp is too large for a picture"):
        pictures.picture(account, "flops.model")
    names = [f"n{i}" for i in range(300)]
    edges = [Edge(a, b, 1, 1) for a, b in pairwise(names)]
    edges += [Edge(names[0], name, 1, 1) for name in names[2:]]
    with pytest.raises(LimitError, match="too large to be drawn"):
        layered(dict.fromkeys(names, (2.0, 2.0)), edges)
