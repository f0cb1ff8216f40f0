"""What people type, read in the one way that there is; else refused, with each reading ready to paste."""

from __future__ import annotations

from fractions import Fraction

import pytest

from symacct.algebra.normal import same
from symacct.algebra.symbols import symbol
from symacct.claims import amount, read_claim, resolve
from symacct.errors import FormulaError, SymacctError, UnknownNameError
from symacct.evaluation.on_machine import QUANTITIES
from symacct.syntax import AmbiguousError, read_formula
from symacct.syntax.source import ADVICE

LLAMA = ("B", "S", "L", "D", "F", "H", "G", "K", "V")
GPT = ("b", "s", "a", "L", "h", "V")
CHAIN = ("B", "D", "L")


def tree(one):
    """A tree as text."""
    if one.form in {"number", "name", "quantity", "unit"}:
        return {"number": str(one.value), "unit": f"<{one.name}>"}.get(one.form, one.name)
    return f"{one.name or one.form}({', '.join(map(tree, one.parts))})"


def read(text, names=None, **how):
    """Both sides of a claim as text."""
    claim = read_claim(text, names, QUANTITIES if names is not None else (), **how)
    return f"{tree(claim.left)} {claim.relation} {tree(claim.right)}"


def lines(error):
    """The lines of a fix, each ready to paste."""
    return [line.strip() for line in error.fix.removeprefix("write ").split("\n            or ")]


STAYS = [
    ("flops.model = 6BD²L - 2BD²", CHAIN, "flops.model = 6*B*D^2*L - 2*B*D^2"),
    ("memory.activations = 34sbh + 5as²b", GPT, "memory.activations = 34*s*b*h + 5*a*s^2*b"),
    ("params = 12Lh(12h+13)", GPT, "params = 12*L*h*(12*h + 13)"),
    ("flops.model = 1 + s/(6h)", GPT, "flops.model = 1 + s/(6*h)"),
    (
        "flops.model = 6ND where N = params, D = tokens",
        LLAMA,
        "flops.model = 6*N*D where N = params, D = tokens",
    ),
    ("$30\\times10^9\\cdot2\\,\\mathrm{byte} = 1 GB$", None, None),
    ("(2k+1)^2 = 4k^2+4k+1", None, "(2*k + 1)^2 = 4*k^2 + 4*k + 1"),
    ("2B = B + B", None, "2*B = B + B"),
    ("2*BDK = 2*B*D*K", None, "2*B*D*K = 2*B*D*K"),
    ("80GB / 16 bytes = n", None, "80 GB / (16 bytes) = n"),
    ("memory.peak = 3.35TB/s * 1 s", LLAMA, "memory.peak = 3.35 TB/s * 1 s"),
]


@pytest.mark.parametrize(("text", "names", "plain"), STAYS)
def test_these_stay(text, names, plain):
    """Written out in full, they are the same."""
    if plain is None:
        with pytest.raises(AmbiguousError, match="GB looks like one word"):
            read(text, names)
        text = text.replace("1 GB", "60\\,\\mathrm{GB}")
        assert read(text, names) == "product(30, power(10, 9), product(2, <byte>)) = product(60, <GB>)"
    else:
        assert read(text, names).replace("<bytes>", "<bytes>") == read(plain, names)


@pytest.mark.parametrize(
    ("text", "names", "found"),
    [
        ("state = taste", None, "state = taste"),
        ("loss*rate = rate*loss", None, "product(loss, rate) = product(rate, loss)"),
        ("2n_layer*2alpha = α", None, "product(2, n_layer, 2, alpha) = alpha"),
        ("\\mu_n = 2*\\mu_{n}", None, "mu_n = product(2, mu_n)"),
        ("2词表 = 词表", None, "product(2, 词表) = 词表"),
        ("ﬁle = ﬁle", None, "file = file"),
        ("12h^2 = 12*h*h", None, "product(12, power(h, 2)) = product(12, h, h)"),
        ("10 s = 10 second", None, "product(10, <s>) = product(10, <second>)"),
        ("34 s b h = n", None, "product(34, s, b, h) = n"),
        ("34 s b h = flops.model", GPT, "product(34, s, b, h) = flops.model"),
        ("(80-16) GB = 64 GB", LLAMA, "product(sum(80, negative(16)), <GB>) = product(64, <GB>)"),
        ("80GB = 80 GB", LLAMA, "product(80, <GB>) = product(80, <GB>)"),
        ("N byte = 128 GiB", None, "product(N, <byte>) = product(128, <GiB>)"),
        ("ceil(n) ms = 3 ms", None, "product(ceil(n), <ms>) = product(3, <ms>)"),
        ("70B param = params", LLAMA, "product(70000000000, <param>) = params"),
        ("1e3e = e*1e3", None, "product(1000, e) = product(e, 1000)"),
        ("flops.model = 2B*D*K", LLAMA, "flops.model = product(2, B, D, K)"),
        ("$B D = D B$", None, "product(B, D) = product(D, B)"),
        ("$2BD = BD + DB$", None, "product(2, B, D) = sum(product(B, D), product(D, B))"),
        (
            "$10~\\mathrm{GB} = 5\\,\\text{GB}\\cdot 2$",
            None,
            "product(10, <GB>) = product(product(5, <GB>), 2)",
        ),
        ("memory.peak <= flops.forward(region=core)", LLAMA, "memory.peak <= flops.forward(region=core)"),
        (
            "time.forward(graph=relu) = time.forward(core)",
            LLAMA,
            "time.forward(graph=relu) = time.forward(core)",
        ),
        ("N = 3 where N = flops.model(checkpoint=every:2:full)", LLAMA, "N = 3"),
        ("k | L = 3", None, None),
        ("2 byte*s = 2 byte*s", ("s",), "product(product(2, <byte>), s) = product(product(2, <byte>), s)"),
        ("4 byte*(B*D) = n", ("B", "D", "n"), "product(product(4, <byte>), product(B, D)) = n"),
        ("50 % = 1/2", None, "product(50, <%>) = quotient(1, 2)"),
        ("2 $/GPU = 2 $/GPU", None, "product(2, <$/GPU>) = product(2, <$/GPU>)"),
        ("2BDK = 2*B*D*K", (), None),
    ],
)
def test_what_is_read(text, names, found):
    """In each of the rules, the readings that have no other."""
    if found is None:
        with pytest.raises(SymacctError):
            read(text, names)
    else:
        assert read(text, names) == found


DOUBTFUL = [
    ("params < 9B", LLAMA, ["params < 9e9", "params < 9B parameter", "params < 9*B"]),
    (
        "params < 9B + 9B",
        LLAMA,
        ["params < 9e9 + 9e9", "params < 9B parameter + 9B parameter", "params < 9*B + 9B"],
    ),
    ("params >= 1.5M", GPT, ["params >= 1.5e6", "params >= 1.5M parameter"]),
    ("tokens <= 4k", LLAMA, ["tokens <= 4e3", "tokens <= 4k token"]),
    ("n = 2k", None, ["n = 2e3", "n = 2*k"]),
    (
        "flops.model = 9B*params",
        LLAMA,
        ["flops.model = 9e9*params", "flops.model = 9B parameter*params", "flops.model = 9*B*params"],
    ),
    ("2BDK = 2BDK", None, ["2*B*D*K = 2BDK", "2*BDK = 2BDK"]),
    ("time.step <= 10 s", GPT, ["time.step <= 10*s", "time.step <= 10 second"]),
    ("time.step <= (2+1) h", GPT, ["time.step <= (2+1)*h", "time.step <= (2+1) hour"]),
    ("10 s = 10*s", None, ["10*s = 10*s", "10 second = 10*s"]),
    (
        "time.step = 1 GB/(3.35TB/s)",
        GPT,
        ["time.step = 1 GB/(3.35TB/(1*s))", "time.step = 1 GB/(3.35TB/second)"],
    ),
    ("2 params = tokens", LLAMA, ["2*params = tokens", "2 parameter = tokens"]),
    ("2params = 3tokens", LLAMA, None),
    ("N params = 3 where N = 2", LLAMA, ["N*params = 3 where N = 2", "N parameter = 3 where N = 2"]),
    ("memory.peak <= (80-16)GB", LLAMA, ["memory.peak <= (80-16) GB", "memory.peak <= (80-16)*G*B"]),
    ("N s = 3", None, ["N*s = 3", "N second = 3"]),
    ("$80 GB = n$", None, ["80 G B = n", "80 \\,\\mathrm{GB} = n"]),
    ("$loss = n$", None, ["l o s s = n", "\\mathrm{loss} = n"]),
    ("$10 s = 10\\,\\mathrm{second}$", None, None),
    ("memory.peak <= 10\\,\\mathrm{s}", GPT, None),
]


@pytest.mark.parametrize(("text", "names", "fixes"), DOUBTFUL)
def test_what_has_two_readings(text, names, fixes):
    """It is refused; each line of the fix is accepted as it stands, and no two of them are the same."""
    with pytest.raises(AmbiguousError) as caught:
        read(text, names)
    found = lines(caught.value)
    assert fixes is None or found == fixes
    told = []
    for line in found:
        try:
            told.append(read(line, names))
        except AmbiguousError as other:
            assert other.got != caught.value.got  # noqa: PT017 (another word of the same text)
            told.append(line)
    assert len(set(told)) == len(found) > 1


@pytest.mark.parametrize(
    ("text", "names", "what", "fix"),
    [
        ("exp(2*n) = 2*exp(n)", None, "exp is no function", "write exp*(2*n) = 2*exp(n)      (a product)"),
        ("n(n+1) = n", None, "n is no function", "write n*(n+1) = n      (a product)"),
        ("nlog(n) = n", ("n",), "nlog is no function", "write n*log(n) = n"),
        ("n log n = 1000", None, "log needs a bracket", "write n log(n) = 1000"),
        ("flops.model >= log B + 1", LLAMA, "log needs a bracket", "write flops.model >= log(B) + 1"),
        ("log n^2 = n", None, "log needs a bracket", None),
        ("$\\mathit{n} sqrt = n$", None, "sqrt needs a bracket", None),
        ("$n log n = n$", None, "log needs a bracket", "write n \\operatorname{log}(n) = n"),
        ("$\\mathrm{log} n = n$", None, "log needs a bracket", "write \\operatorname{log}(n) = n"),
        ("$n \\log n + 1 = n$", None, "log needs a bracket", "write n \\log(n) + 1 = n"),
        ("min_k k + n/k = 2*sqrt(n)", None, "min_k stands where no limit", None),
        ("lim_n n = 1", None, "lim_n stands where no limit", None),
        ("$\\mathrm{lim}_n \\frac{n+1}{n} = 1$", None, "lim_n stands where no limit", None),
        ("2*sqrt(n) = min_k(k + n/k)", None, "min_k stands where no limit", None),
        ("$\\min_k(k) = n$", None, "_k stands where no limit", None),
        ("$\\lim_{n} n = 1$", None, "the LaTeX command \\lim", None),
        ("lim_{B→∞} n = 1", None, "a subscript is a word or a number", ADVICE["lim"]),
        ("max a = a", None, "max needs a bracket", None),
        ("x_{i+1} = x_i + 1", None, "a subscript is a word or a number", "write x_{i_plus_1} = x_i + 1"),
        ("x_{i,j} = 1", None, "a subscript is a word or a number", "write x_{i_j} = 1"),
        ("x_\\frac{1}{2} = 1", None, "a subscript is a word or a number", None),
        ("params >= 768*(768//12)", GPT, "// divides integers", "write params >= 768*(floor(768/12))"),
        ("n = 7//(a+b)", None, "// divides integers", "write n = floor(7/(a+b))"),
        ("B + Β = 2*B", None, "two names look the same", "write B + B = 2*B"),
        ("п = а", ("a",), "two names look the same", None),
        ("2*byte = 16*bit", None, "byte is a unit, and stands where none can", "write 2*1 byte = 16*bit"),
        ("xⁿ = x", None, "'ⁿ' has no meaning in a formula", None),
        ("flops.model = N where N = H, H = K", LLAMA, "N uses H, which is bound beside it", None),
        ("n = N where N = H, H = 3", None, "N uses H", "write n = N where N = 3, H = 3"),
        ("flops.model = 6*N*X where N = params", LLAMA, "unknown name 'X'", "bind it: ... where X = FORMULA"),
        ("flops.model ≈ 6*B", LLAMA, "how near two sides are is not said", None),
        ("80Gb = n", None, "'Gb' may be bits or bytes", "write 80Gbit = n"),
        ("3 TFLOPS = n", None, "'TFLOPS' may be a count or a rate", "write 3 TFLOP/s = n"),
        ("80 gb = n", None, "'gb'", None),
        ("0x10 = 16", None, "a number has no letters in it", "write 16"),
        ("n choose k = 3", None, "unknown name 'choose'", None),
        ("flops.model = N where N = N/2", LLAMA, "N is bound through itself", None),
        ("n = N where N = N/2", None, "N is bound through itself", None),
        ("a = b where b = flops.model", None, "flops.model is a quantity of a graph", None),
    ],
)
def test_what_is_refused(text, names, what, fix):
    """With its place, and with the line that is meant where there is one."""
    with pytest.raises(SymacctError) as caught:
        read(text, names)
    assert what in caught.value.what
    assert fix is None or caught.value.fix == fix


def test_a_chain_of_bindings_has_two_lines():
    """What is bound beside, put in; or another letter for the size."""
    with pytest.raises(FormulaError) as caught:
        read("flops.model = N where N = 2*H, H = K + 1", LLAMA)
    assert lines(caught.value) == [
        "flops.model = N where N = 2*(K + 1), H = K + 1",
        "--rename N=H,...      (the size H of the graph)",
    ]
    assert read("n = N", None, lets=["H = 3", "N = 2*H"]) == "n = N"
    with pytest.raises(FormulaError, match="bound beside it"):
        read("flops.model = N", LLAMA, lets=["N = H", "H = K"])


def test_a_statement_is_read_as_one():
    """Conditions and bindings show what the words of the sides are, and the other way round."""
    assert read("2n = ND where N = 3, D = 4", None) == "product(2, n) = product(N, D)"
    assert read("m = 2k", None, beside=["k >= 2"]) == "m = product(2, k)"
    with pytest.raises(AmbiguousError) as caught:
        read("params >= 3", (*LLAMA, "k"), beside=["S >= 4k"])
    assert lines(caught.value) == ["S >= 4e3", "S >= 4*k"]
    with pytest.raises(AmbiguousError):
        read("params < 9B", LLAMA, beside=["B >= 2"])
    whole = "params >= 3 if S >= 4k"
    with pytest.raises(AmbiguousError) as caught:
        read("params >= 3", (*LLAMA, "k"), beside=["S >= 4k"], whole=whole)
    assert lines(caught.value) == ["params >= 3 if S >= 4e3", "params >= 3 if S >= 4*k"]
    whole = "params < 9B  if B >= 2*D"
    with pytest.raises(AmbiguousError) as caught:
        read("params < 9B", LLAMA, whole=whole)
    assert lines(caught.value)[0] == "params < 9e9  if B >= 2*D"


def test_names_that_are_declared():
    """`--names` makes a product of capitals readable, and says that a unit's letter is a name."""
    assert read("2BDK = 2*K", None, declared="BDK") == "product(2, B, D, K) = product(2, K)"
    assert read("f(x) = f*x", None, declared="fx") == "product(f, x) = product(f, x)"
    with pytest.raises(AmbiguousError):
        read("10 s = n", None, declared="s")


def test_meanings_say_what_each_name_is():
    """In the order in which they stand."""
    claim = read_claim("flops.model = 6ND + 70B param * 3 s where N = params, D = 2*L", LLAMA, QUANTITIES)
    assert dict(claim.meanings) == {
        "N": "where: params",
        "D": "where: 2*L",
        "ND": "N*D",
        "70B": "70000000000",
        "param": "the unit parameter",
        "s": "the unit second",
        "L": "a size of the graph",
    }


def test_a_tolerance_is_a_share():
    """`within P %` behind an equation."""
    for text in ("A = B within 3 %", "A ≈ B within 3%", "$A \\approx B$ within 3 percent"):
        claim = read_claim(text, None)
        assert (claim.relation, claim.tolerance * 100) == ("within", 3)
    assert read_claim("A = B", None).tolerance is None


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("(2 + 2 + 8) byte/parameter * 5e9 param", 60 * 10**9),
        ("9B/3", 3 * 10**9),
        ("4k token", 4000),
        ("2Ki", 2048),
        ("12h", 12 * 3600),
        ("500 µs * 4", Fraction(1, 500)),
        ("500 μs * 4", Fraction(1, 500)),
        ("80GB / 16 bytes", 5 * 10**9),
        ("900B/s * 2 s", 1800),
    ],
)
def test_calculations(text, value):
    """Suffixes are such where nothing is declared."""
    assert amount(text).value == value


def test_a_calculation_with_names():
    """What `--let` binds is a name there too."""
    assert amount("3*h*2", None, ["h = 4"]).value == 24
    assert amount("12h", None, ["h = 4"]).value == 48
    for text in ("12 h", "2k"):
        with pytest.raises(AmbiguousError):
            amount(text, None, ["h = 4", "k = 3"])
    with pytest.raises(UnknownNameError, match="B has no value"):
        amount("2B", None, (), ["B"])


@pytest.mark.long
@pytest.mark.parametrize("count", [500, 900])
def test_long_sums_are_read(count):
    """Work on many names, on long words and on long runs is bounded."""
    names = [f"a{n}" for n in range(count)]
    claim = read_claim(f"{' + '.join(names)} = n", None)
    assert len(claim.names) == count + 1
    for text in (
        "s " * 4000,
        "2B*" * 3000 + "D",
        "BD" * 4000,
        "2*" * 4000 + "s",
        "(" * 40 + "n" + ") s" * 40,
    ):
        for given in (None, ("B", "D", "s")):
            try:
                read_claim(f"{text} = 1", given)
            except SymacctError:
                continue


def test_conditions_divide_and_formulas_do_not():
    """`k | L` is a condition; a bar in a formula is refused, but around a whole value in LaTeX."""
    assert read("L = 2*k", None, beside=["k | L"]) == "L = product(2, k)"
    with pytest.raises(SymacctError):
        read("k|L = 2", None)
    assert same(read_formula("\\left|n - m\\right|", ["n", "m"]), abs(symbol("n") - symbol("m")))


def test_both_sides_of_resolved_claims_have_units():
    """A unit behind a name or a bracket is a factor like any other."""
    sides = resolve(read_claim("N byte = (2+2) GB", None))
    assert str(sides.left.unit) == str(sides.right.unit) == "byte"
    assert sides.right.expr == 4 * 10**9
