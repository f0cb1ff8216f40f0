"""Kinds of random graphs, each a function of a writer that returns the outputs."""

from __future__ import annotations

from .writing import (
    ALL,
    attention,
    binary,
    embedded,
    ffn,
    gated,
    growing,
    linear,
    made,
    normed,
    outputs,
    residual,
    several,
    some,
    unary,
    viewed,
)

PLAIN = ("L", "L", "L", "N", "2*L", "L - 1", "L + 1")
OF_TWO = ("L - N", "L/P", "N/P", "L*N", "L + N", "2*L", "L - 1", "L/2", "L - N + 1", "2*L - N", "L + 2*N")
FAR = 12


def counted(w, texts=PLAIN):
    """Return a count, its sizes declared."""
    text = w.rng.choice(texts)
    for letter in "LNP":
        if letter in text:
            w.size(letter)
    return text


def starts(w, most, least=1):
    """Make tensors to carry; in half of the cases all of them want a gradient."""
    hows = ("layer", "layer", "weight") if w.chance(0.5) else (None,)
    return [w.start(w.rng.choice(hows)) for _ in range(w.rng.randint(least, most))]


def carries(w, least=1):
    """Make few tensors to carry, or, in one of four cases, up to twelve."""
    return starts(w, FAR if w.chance(0.25) else 5, least)


# ---- carries ----


def shift(w):
    """Carries that shift: a new one comes in, the oldest goes."""
    xs = carries(w)

    def body(enters):
        new = some(w, enters[0], (linear, unary, binary, ffn))
        for other in w.rng.sample(enters, min(len(enters), w.rng.choice((0, 1, 1, 2)))):
            new = w.put(f"b.{w.rng.choice(('add', 'add', 'mul'))}({new}, {other})")
        return [new, *enters[:-1]]

    found = w.repeat(counted(w), xs, body)
    return outputs(w, found[w.rng.choice((0, -1))])


def chain(w):
    """Carries that go from slot to slot through ops and views."""
    xs = carries(w, 2)

    def body(enters):
        first = several(w, enters[0], 2)
        hops = (unary, viewed, viewed, binary)
        return [first, *(x if w.chance(0.4) else some(w, x, hops) for x in enters[:-1])]

    found = w.repeat(counted(w), xs, body)
    return outputs(w, w.rng.choice(found))


def swap(w):
    """Carries that trade places, some of them through an op; most times all of them want a gradient."""
    xs = [w.start("layer") for _ in range(w.rng.randint(2, 7))] if w.chance(0.6) else carries(w, 2)

    def body(enters):
        turned = list(enters)
        how = w.rng.choice(("rotate", "swap", "any"))
        if how == "rotate":
            turned = [*enters[1:], enters[0]]
        elif how == "swap":
            turned[0], turned[1] = turned[1], turned[0]
        else:
            w.rng.shuffle(turned)
        some_op = w.rng.randrange(len(turned))
        leaves = [several(w, x, 2) if at == some_op or w.chance(0.3) else x for at, x in enumerate(turned)]
        return made(w, leaves, enters)

    found = w.repeat(counted(w), xs, body)
    return outputs(w, w.rng.choice(found))


def close(w):
    """Bodies that read what is around them in every iteration."""
    around = [w.start(w.rng.choice(("input", "weight", "layer", "relu"))) for _ in range(w.rng.randint(1, 3))]
    if w.chance(0.4):
        w.line(f"shared = {w.weight()}")
    shared = "shared = " in w.lines[-1]
    xs = starts(w, 3)

    def body(enters):
        leaves = []
        for x in enters:
            y = several(w, x, 2)
            if w.chance(0.8):
                y = w.put(f"b.{w.rng.choice(('add', 'mul', 'maximum'))}({y}, {w.rng.choice(around)})")
            if shared and w.chance(0.6):
                y = w.put(f'b.einsum("B E, E D -> B D", {y}, shared)')
            leaves.append(y)
        return leaves

    found = w.repeat(counted(w), xs, body)
    last = w.rng.choice(found)
    if w.chance(0.3):
        last = w.put(f"b.mul({last}, {w.rng.choice(around)})")
    return outputs(w, last)


def unused(w):
    """Carries that nobody reads in the end, or several that are."""
    xs = carries(w, 2)

    def body(enters):
        leaves = [several(w, x, 2) if w.chance(0.7) else x for x in enters]
        if w.chance(0.4):
            w.rng.shuffle(leaves)
        if w.chance(0.5):
            leaves[0] = w.put(f"b.add({leaves[0]}, {w.rng.choice(enters)})")
        return made(w, leaves, enters)

    found = w.repeat(counted(w), xs, body)
    if w.chance(0.5):
        return outputs(w, found[0])
    read = w.rng.sample(found, w.rng.randint(2, len(found)))
    total = read[0]
    for other in read[1:]:
        total = w.put(f"b.{w.rng.choice(('add', 'mul'))}({total}, {other})")
    return outputs(w, total)


# ---- bodies ----


def bodies(w):
    """One carry through residual layers, norms, softmax, dropout."""
    x = several(w, w.start(), 2) if w.chance(0.4) else w.start()

    def body(enters):
        y = enters[0]
        for _ in range(w.rng.randint(1, 3)):
            y = some(w, y, (residual, residual, normed, unary, ffn, gated, *ALL))
        return [y]

    return outputs(w, w.repeat(counted(w), [x], body)[0])


def leaves(w):
    """Frozen weights, inputs without gradients, lookups, ops that get no cotangent."""
    w.line('ids = b.input("ids", "B", dtype="index")')
    w.waiting.append("ids")
    xs = [w.input(grad=w.chance(0.3)) for _ in range(w.rng.randint(1, 2))]
    if w.chance(0.5):
        xs.append(w.put(f"b.embedding({w.weight('V D', V=w.size('V'))}, ids)"))
    xs = [w.put(frozen(w, x)) if w.chance(0.4) else x for x in xs]

    def body(enters):
        found = []
        for x in enters:
            op = w.rng.choice(("frozen", "embed", "gate", "plain", "linear"))
            if op == "frozen":
                y = w.put(frozen(w, x))
            elif op == "embed":
                y = w.put(embedded(w, x))
            else:
                y = some(w, x, {"gate": (gated,), "plain": (unary, viewed), "linear": (linear,)}[op])
            found.append(several(w, y, 1) if w.chance(0.4) else y)
        return found

    found = w.repeat(counted(w), xs, body)
    return outputs(w, found[-1])


# ---- several repeats ----


def body_of(w, *, deep=0, texts=PLAIN, ops=ALL):
    """Return a body that draws a step of one or more kinds, or another repeat."""

    def body(enters):
        if not deep or w.chance(0.15):
            return flat(w, enters, ops)
        count, index = inner_count(w, texts)
        before = several(w, enters[0], 1, ops) if w.chance(0.5) else enters[0]
        inner = body_of(w, deep=deep - 1, texts=texts, ops=ops)
        found = list(w.repeat(count, [before, *enters[1:]], inner, index=index))
        if w.chance(0.2):
            count, index = inner_count(w, texts)
            found = list(w.repeat(count, found, body_of(w, texts=texts, ops=ops), index=index))
        if w.chance(0.5):
            found[0] = some(w, found[0], ops)
        return made(w, found, enters)

    return body


def flat(w, enters, ops):
    """Write one iteration without a repeat in it: an update, a shift, a chain, a rotation."""
    how = w.rng.choice(("update", "update", "shift", "chain", "rotate"))
    if how == "update" or len(enters) == 1:
        return made(w, [several(w, x, 2, ops) for x in enters], enters)
    new = w.put(f"b.add({several(w, enters[0], 2, ops)}, {w.rng.choice(enters)})")
    if how == "shift":
        return [new, *enters[:-1]]
    if how == "rotate":
        return made(w, [*enters[1:], new], enters)
    return [new, *(x if w.chance(0.4) else some(w, x, (unary, viewed, binary)) for x in enters[:-1])]


def inner_count(w, texts):
    """Return the count of a repeat in another one, and the name of its index if it has one."""
    if w.indices and w.chance(0.5):
        index = w.rng.choice(w.indices)
        count = w.rng.choice((f"{index} + 1", index, f"{index} + 2", f"2*{index} + 1"))
    elif w.chance(0.4):
        count = w.rng.randint(1, 3)
    else:
        count = counted(w, texts)
    return count, w.name("j") if w.chance(0.4) else None


def rows(w):
    """Two or three repeats in a row, each with a count of its own."""
    xs = carries(w) if w.chance(0.3) else starts(w, 3)
    total = w.rng.choice((2, 2, 2, 3))
    for at in range(total):
        texts = ("LNP"[at],) if w.chance(0.7) else ("L", "L - 1", 2, 1)
        count = w.rng.choice(texts)
        if isinstance(count, str):
            w.size(count[0])
        found = w.repeat(count, xs, body_of(w))
        xs = [several(w, x, 1) if w.chance(0.3) else x for x in found]
        if w.chance(0.2):
            xs.append(w.pick())
        if len(xs) > 1 and w.chance(0.3):
            xs.pop()
    return outputs(w, xs[0])


def nested(w):
    """Repeats in repeats, with counts of sizes and of numbers."""
    xs = starts(w, 3)
    deep = w.rng.choice((1, 1, 1, 2))
    found = w.repeat(counted(w), xs, body_of(w, deep=deep, texts=("N", "N", "P", "L")))
    return outputs(w, found[0])


def ladder(w):
    """Repeats in repeats whose counts depend on an index."""
    xs = starts(w, 2)
    index = w.name("i")
    deep = w.rng.choice((1, 1, 1, 2))
    found = w.repeat(counted(w), xs, body_of(w, deep=deep, texts=("N", "N")), index=index)
    return outputs(w, found[0])


def looking(w):
    """Attention in layers, alone or beside others."""
    xs = starts(w, 2)

    def body(enters):
        first = some(w, some(w, enters[0], (normed, unary, viewed)), (attention,))
        if w.chance(0.6):
            first = some(w, first, (residual, ffn))
        return [first, *(several(w, x, 1) for x in enters[1:])]

    return outputs(w, w.repeat(counted(w), xs, body)[0])


def widening(w):
    """Sizes that depend on an index, in one repeat or two."""
    xs, index = starts(w, 2), w.name("i")
    deep = w.rng.choice((0, 0, 1))
    ops = (growing, growing, linear, unary, binary, residual)
    found = w.repeat(counted(w), xs, body_of(w, deep=deep, texts=("N",), ops=ops), index=index)
    return outputs(w, found[0])


# ---- counts ----


def counts(w):
    """Counts of one size and of two."""
    xs = starts(w, 4)
    found = w.repeat(counted(w, OF_TWO), xs, body_of(w))
    if w.chance(0.4):
        found = w.repeat(counted(w, (*OF_TWO, "L", "N")), found, body_of(w))
    return outputs(w, found[0])


def pairs(w):
    """Counts of two sizes in repeats in repeats."""
    xs = starts(w, 2)
    found = w.repeat(counted(w, OF_TWO), xs, body_of(w, deep=1, texts=(*OF_TWO, "N", "L")))
    return outputs(w, found[0])


def numbers(w):
    """Counts that are numbers, small and large, and no sizes."""
    xs, few = carries(w), (1, 2, 3, 5, 7, 8, 9, 10, 12, 17, 24, 33, 64)
    for _ in range(w.rng.choice((1, 1, 2))):
        index = w.name("i") if w.chance(0.3) else None
        deep = w.rng.choice((0, 0, 0, 1))
        body = body_of(w, deep=deep, texts=("2", "3", "9", "N"))
        xs = list(w.repeat(w.rng.choice(few), xs, body, index=index))
    return outputs(w, xs[0])


def mixed(w):
    """Everything: one to three repeats, flat or not, with any of the counts, ops between them."""
    xs = carries(w)
    for _ in range(w.rng.choice((1, 1, 2, 3))):
        index = w.name("i") if w.chance(0.4) else None
        deep = w.rng.choice((0, 0, 0, 1, 1, 2))
        ops = (*ALL, growing, growing) if index else ALL
        body = body_of(w, deep=deep, texts=("N", "L", "P", *OF_TWO), ops=ops)
        xs = list(w.repeat(counted(w, (*PLAIN, "N", "P", *OF_TWO)), xs, body, index=index))
        xs = [several(w, x, 1) if w.chance(0.2) else x for x in xs]
    return outputs(w, w.rng.choice(xs))


def frozen(w, x):
    """Multiply by a weight that does not train."""
    return f'b.einsum("B E, E D -> B D", {x}, {w.weight(frozen=True)})'


def regions(w):
    """Regions that are run again, written into the graph."""
    xs = starts(w, 2)

    def again(x):
        called, enter = w.name("inner"), w.name("c")
        w.line(f"def {called}({enter}):")
        with w.inside([enter]):
            w.line(f"return {several(w, enter, 3)}")
        return w.put(f"b.remat({called}, {x})")

    def body(enters):
        found = [again(x) if w.chance(0.8) else several(w, x, 1) for x in enters]
        pairs = zip(found, enters, strict=True)
        return made(w, [w.put(f"b.add({x}, {y})") if w.chance(0.5) else x for x, y in pairs], enters)

    found = w.repeat(counted(w), xs, body)
    return outputs(w, found[0])


KINDS = {
    one.__name__: one
    for one in (
        shift, chain, swap, close, unused, bodies, leaves, rows, nested, ladder, widening, looking, counts,
        pairs, numbers, regions, mixed,
    )
}  # fmt: skip
