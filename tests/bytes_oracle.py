"""Bytes of a step a part of which runs again, by enumeration: every iteration written out, at integer sizes.

What runs again, and in which order, is what the interpreter of a schedule does. What crosses which border is
found here storage by storage, from the definition of the accounts: nothing is counted by formulas.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property
from itertools import count

from symacct.algebra.evaluate import evaluate
from symacct.derivation.traffic import Traffics
from symacct.nodes import Node, Repeat, walk
from symacct.peaks.timeline import at_sizes

CUT = ("every", "sqrt", "store-nothing")


@dataclass(frozen=True)
class One:
    """A node in one iteration: the storages that it reads and makes, by name."""

    node: Node
    at: tuple
    reads: dict
    makes: dict
    segment: object = None


class Enumeration:
    """The passes of a step at integer sizes."""

    def __init__(self, account, sizes):
        self.account, self.sizes, self.step = account, sizes, account.step
        self.static = Traffics(self.step, None)
        self.repeats = {r.name: r for r, _ in walk(self.step.graph.nodes) if isinstance(r, Repeat)}
        self.storage, self.regions = {}, {}
        self.leaves, self.inits = defaultdict(list), defaultdict(list)
        self.forward, self.backward = [], []
        self.segments(self.step.graph.nodes, {}, {}, None)
        self.unroll(self.step.graph.nodes, {}, {}, self.forward)
        self.unroll(self.step.backward, {}, {}, self.backward)
        self.makers = {storage: one for one in self.forward for storage in one.makes.values()}
        self.labels = {one.node.label for one in self.forward}

    def number(self, expr, known):
        return int(evaluate(expr, {**self.sizes, **known}))

    # ---- every iteration ----

    def key(self, name, at):
        return name, tuple(at[r] for r in self.static.tensors[name].path)

    def found(self, name, at):
        return self.storage.get(self.key(name, at), self.key(name, at))

    def unroll(self, nodes, at, known, into):
        for node in nodes:
            if isinstance(node, Node):
                self.run(node, at, into)
                continue
            carried = [c.init and self.found(c.init, at) for c in node.carry]
            for storage in carried:
                self.inits[storage].append((node.name, place(at)))
            turns = range(self.number(node.lo, known), self.number(node.hi, known))
            for turn in reversed(turns) if node.reverse else turns:
                inner = {**at, node.name: turn, **({node.of: turn} if node.of else {})}
                for c, storage in zip(node.carry, carried, strict=True):
                    if c.enter and storage:
                        self.storage[self.key(c.enter, inner)] = storage
                self.unroll(node.body, inner, {**known, node.index.name: turn}, into)
                carried = [c.leave and self.found(c.leave, inner) for c in node.carry]
                for storage in carried:
                    self.leaves[storage].append((node.name, place(inner)))
            for c, storage in zip(node.carry, carried, strict=True):
                if c.result and storage:
                    self.storage[self.key(c.result, at)] = storage

    def run(self, node, at, into):
        reads = {root: self.found(root, at) for _, root, _ in self.static.amounts(node)}
        makes = {}
        for slot, name in enumerate(node.outs):
            shared = slot == 0 and node.op.alias
            self.storage[self.key(name, at)] = self.found(node.ins[0], at) if shared else self.key(name, at)
            if not shared:
                makes[name] = self.key(name, at)
        if node.op.moves:
            into.append(One(node, place(at), reads, makes, self.segment(node.label, at)))

    # ---- segments ----

    def segment(self, label, at):
        """Return the segment of a node in an iteration: a value of its own for each."""
        forward = {name: turn for name, turn in dict(at).items() if name in self.repeats}
        if self.account.policy.checkpoint.kind not in CUT:
            return self.regions.get((label, place(forward)))
        return self.turns(*next(iter(forward.items())))[:2] if forward else None

    def turns(self, name, turn):
        """Return the segment of an iteration, and its last iteration."""
        repeat, checkpoint = self.repeats[name], self.account.policy.checkpoint
        lo, hi = self.number(repeat.lo, {}), self.number(repeat.hi, {})
        if checkpoint.kind == "store-nothing":
            return name, turn, turn
        root = next(k for k in count(1) if k * k >= hi - lo)
        size = root if checkpoint.kind == "sqrt" else self.number(checkpoint.every, {})
        segment = (turn - lo) // size
        return name, segment, min(hi, lo + (segment + 1) * size) - 1

    def segments(self, nodes, at, known, inside):
        """Note the segment of what stands in a region, in each iteration: nodes next to each other."""
        before = here = None
        for position, node in enumerate(nodes):
            name = self.region(node.label)
            if name != before:
                here = name and (name, position, place(at))
            before = name
            self.regions[node.label, place(at)] = inside or here
            if isinstance(node, Repeat):
                for turn in range(self.number(node.lo, known), self.number(node.hi, known)):
                    inner = {**known, node.index.name: turn}
                    self.segments(node.body, {**at, node.name: turn}, inner, inside or here)

    def region(self, label):
        for remat in self.account.graph.remats:
            if label in remat.labels or label.startswith(f"{remat.name}/"):
                return remat.name
        parts, found = label.split("/"), None
        for name in self.account.policy.checkpoint.regions:
            words = name.split("/")
            starts = range(len(parts))
            hit = next((i for i in starts if parts[i : i + len(words)] == words), None)
            found = found if hit is None else "/".join(parts[: hit + len(words)])
        return found

    @cached_property
    def passes(self):
        """The segment and the nodes of each recomputation, in order."""
        by = {(one.node.label, one.at): one for one in self.forward}
        found, open_ = [], []
        for action in at_sizes(self.account.graph, self.account.running, self.sizes).actions:
            if action.phase == "recompute":
                open_ += [by[action.label, place(action.at)]] if action.runs else []
            elif open_:
                found.append((self.segment(action.label, action.at), open_))
                open_ = []
        return found

    # ---- runs ----

    def split(self, ones, *, again):
        """Split a pass into runs: contractions alone, the rest in stretches."""
        found = []
        for one in ones:
            last = found[-1][-1] if found else None
            if last is not None and self.joins(last, one, again=again):
                found[-1].append(one)
            else:
                found.append([one])
        return found

    def joins(self, left, right, *, again):
        """Say whether two nodes are one: no contraction, one iteration, nothing between that parts them."""
        if left.at != right.at or left.node.op.contracted() or right.node.op.contracted():
            return False
        nodes = self.step.graph.nodes
        for name, _ in left.at:
            nodes = next(node for node in nodes if node.label == name).body
        labels = [node.label for node in nodes]
        between = nodes[labels.index(left.node.label) : labels.index(right.node.label) + 1]
        if again and len({self.segment(node.label, left.at) for node in between}) > 1:
            return False
        return not any(isinstance(node, Repeat) for node in between)

    # ---- what crosses a border ----

    @cached_property
    def read_back(self):
        """Names of storages that backward reads as they are, and as copies; the segments that it wakes."""
        ran = {(one.node.label, one.at) for _, ones in self.passes for one in ones}
        own, copies, awake = set(), set(), {segment for segment, _ in self.passes}
        for one in self.backward:
            reader = self.segment(one.node.of, one.at) if one.node.of in self.labels else None
            for root, storage in one.reads.items():
                if root in self.step.graph.tensors:
                    awake.add(reader)
                maker = self.makers.get(storage)
                if maker is None or root not in maker.makes:
                    continue  # handed in, or handed on: written anyway
                mine = reader is not None and reader == maker.segment
                (copies if mine and (maker.node.label, maker.at) in ran else own).add(root)
        return own, copies, awake - {None}

    @cached_property
    def entering(self):
        """Names of storages that are kept so that a segment can run again."""
        ran, found = {(one.node.label, one.at) for _, ones in self.passes for one in ones}, set()
        for one in self.forward:
            if one.segment not in self.read_back[2]:
                continue
            for storage in one.reads.values():
                maker = self.makers.get(storage)
                if maker is None:
                    continue
                kept = (one.node.label, one.at) in ran and (maker.node.label, maker.at) not in ran
                if maker.segment != one.segment or kept:
                    found.add(storage[0])
        return found

    def forward_written(self):
        """Return the bytes that the forward pass writes, in the account ``fused``."""
        runs = self.split(self.forward, again=False)
        home = {s: at for at, run in enumerate(runs) for one in run for s in one.makes.values()}
        out = self.read_back[0] | self.entering
        for at, run in enumerate(runs):
            out |= {s[0] for one in run for s in one.reads.values() if home.get(s, at) != at}
        out |= {s[0] for s in (*self.leaves, *self.inits) if s}
        out |= {self.found(name, {})[0] for name in self.step.graph.outputs}
        return sum(
            self.bytes(name, one, elements)
            for one in self.forward
            for name, elements in self.static.written(one.node)
            if name in one.makes and (name in out or one.node.op.contracted())
        )

    def again(self, account):
        """Return the bytes that are read and written by what runs again."""
        read = written = 0
        for segment, ones in self.passes:
            fused = account == "fused"
            runs = self.split(ones, again=True) if fused else [[one] for one in ones]
            home = {s: at for at, run in enumerate(runs) for one in run for s in one.makes.values()}
            pairs = [(at, one) for at, run in enumerate(runs) for one in run]
            out = {s for at, one in pairs for s in one.reads.values() if home.get(s, at) != at}
            out |= set() if fused else set(home)
            for run in runs:
                read += self.read(run, account)
                for one in run:
                    for name, elements in self.static.written(one.node):
                        if name in one.makes and (
                            one.makes[name] in out
                            or one.node.op.contracted()
                            or name in self.read_back[1]
                            or self.handed(one.makes[name], one, segment, ones)
                        ):
                            written += self.bytes(name, one, elements)
        return read, written

    def handed(self, storage, one, segment, ones):
        """Say whether a repeat of the segment takes a storage in, or hands it on within the segment."""
        for name, at in self.leaves.get(storage, ()):
            cut = self.account.policy.checkpoint.kind in CUT and len(at) == 1
            if cut and one.at == at and at[-1][1] < self.last(segment):
                return True
            if not cut and one.at[: len(at)] == at and self.segment(name, at[:-1]) == one.segment is not None:
                return True
        for name, at in self.inits.get(storage, ()):
            inside = self.segment(name, at) == one.segment is not None
            if inside and any(other.at[: len(at)] == at and name in dict(other.at) for other in ones):
                return True
        return False

    def last(self, segment):
        """Return the last iteration of a segment of iterations."""
        name, number = segment
        repeat = self.repeats[name]
        turns = range(self.number(repeat.lo, {}), self.number(repeat.hi, {}))
        return max(turn for turn in turns if self.turns(name, turn)[1] == number)

    # ---- amounts ----

    def read(self, run, account):
        """Return the bytes that a run reads: each storage once, or its parts; or every access."""
        if account == "issued":
            (one,) = run
            ins, outs = ([self.static.tensors[n] for n in names] for names in (one.node.ins, one.node.outs))
            issued = zip(one.node.ins, one.node.op.issues(ins, outs), strict=True)
            return sum(self.bytes(name, one, elements) for name, elements in issued)
        made = {name for one in run for name in one.makes}
        touched = defaultdict(lambda: defaultdict(list))
        for one in run:
            for part, root, amount in self.static.amounts(one.node):
                if root not in made:
                    touched[root][part].append(self.number(amount, self.known(one.at)))
        found = 0
        for root, parts in touched.items():
            numel = {
                p: self.number(self.static.tensors[p].numel, self.known(run[0].at)) for p in (root, *parts)
            }
            amounts = [[numel[p]] if numel[p] in each else each for p, each in parts.items()]
            whole = numel[root] in parts.get(root, ())
            found += self.width(root) * (numel[root] if whole else sum(map(sum, amounts)))
        return found

    def touched(self, *, again):
        """Return the bytes of inputs and weights that backward touches, each once, by name.

        ``again`` takes what runs again with it. Left out are those of which a part is read alone.
        """
        ones = [*self.backward, *(one for _, ones in self.passes for one in ones if again)]
        found, partly = defaultdict(dict), set()
        for one in ones:
            for part, root, amount in self.static.amounts(one.node):
                name, at = one.reads[root]
                tensor = self.static.tensors[name]
                if tensor.role not in ("input", "weight"):
                    continue
                indices = {self.repeats[r].index.name: turn for r, turn in zip(tensor.path, at, strict=True)}
                found[name][at] = self.number(tensor.numel, indices)
                if part != root or self.number(amount, self.known(one.at)) != found[name][at]:
                    partly.add(name)
        return {n: sum(each.values()) * self.width(n) for n, each in found.items() if n not in partly}

    def known(self, at):
        """Return the values of the indices around."""
        return {self.repeats[name].index.name: turn for name, turn in at if name in self.repeats}

    def bytes(self, name, one, elements):
        """Return the bytes of elements of a tensor in an iteration."""
        return self.number(elements, self.known(one.at)) * self.width(name)

    def width(self, name):
        """Return the bytes of an element."""
        tensor = self.static.tensors[name]
        return self.account.policy.nbytes(tensor.dtype, self.static.roles.get(name, tensor.role))


def place(at):
    """Return where a node stands, the outermost repeat first."""
    return tuple(at.items())
