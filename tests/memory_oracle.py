"""A training step by the reference counts that Python itself keeps: what is alive when, without the engine.

A block adds its bytes to a heap when it is made and takes them off when Python drops it. Values hold their
block and the derivative that made them, derivatives hold what they save and the derivatives before them, and
a checkpoint's frame holds what enters it, as in eager torch: nobody works out who is the last to read what.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from weakref import ref

from memory_program import BYTES, Call, Exotic, G, Program, Segment

from symacct.algebra.evaluate import evaluate
from symacct.peaks.layers import structure


class Heap:
    """Bytes that live, now and after each birth; ``only`` are the numbers of the blocks that count."""

    def __init__(self, only=None):
        self.only, self.born, self.live, self.peak = only, 0, 0, 0
        self.saved, self.again, self.kept = set(), Counter(), 0
        self.levels = []


class Block:
    """A storage."""

    def __init__(self, heap, nbytes):
        self.heap, self.number = heap, heap.born
        self.nbytes = nbytes if heap.only is None or self.number in heap.only else 0
        heap.born, heap.live = heap.born + 1, heap.live + self.nbytes
        heap.peak = max(heap.peak, heap.live)
        heap.levels.append(heap.live)

    def __del__(self):
        self.heap.live -= self.nbytes


@dataclass(eq=False)
class Grad:
    """A derivative that waits for its cotangent."""

    call: Call
    saved: dict
    frame: object = None
    before: list = field(default_factory=list)


@dataclass(eq=False)
class Frame:
    """A checkpoint that waits to run again: what entered it with its past, and what it saves for."""

    segment: Segment
    inputs: dict
    grads: dict = field(default_factory=dict)
    ran: bool = False


class Oracle:
    """One step: what lives is what some attribute, list or dictionary here still holds."""

    def __init__(self, graph, policy, sizes, only=None):
        self.program, self.policy, self.sizes = Program(graph, policy, sizes), policy, sizes
        self.heap = Heap(only)
        self.fixed = Block(self.heap, 0)
        self.accumulated = {}
        self.filled = set()
        for _ in range(min(int(policy.accumulate), 3)):
            self.micro_batch()

    def micro_batch(self):
        self.env, self.waiting, self.buffers, self.open = {}, {}, {}, None
        program = self.program
        loss = program.get(program.graph.outputs[0], {})
        held = [program.get(name, {}) for name in program.held] if self.policy.hold_output else []
        self.left = Counter([loss, *held])
        for call in program.calls:
            self.left.update(call.ins)
        for segment in {call.segment: None for call in program.calls if call.segment is not None}:
            self.left.update(entering(segment))
        for call in program.calls:
            self.enter(call.segment)
            self.forward(call)
        self.enter(None)
        self.heap.kept = self.heap.live
        self.heap.saved |= (
            {block.number for block in held_by(self.env[loss][1])} if loss in self.env else set()
        )
        if loss.need:
            self.backward(loss)
        self.env.clear()

    def new(self, nbytes):
        return Block(self.heap, nbytes)

    def copies(self, call):
        """Make what torch keeps of a call beside the tensors of the graph."""
        found = self.program.record(call).extra
        return {
            reason: self.new(int(evaluate(elements, {**self.sizes, **call.at})) * BYTES[dtype])
            for reason, elements, dtype in found
        }

    # ---- forward ----

    def enter(self, segment):
        """Open the frame of a segment; the one before is then held by what it saves for alone."""
        if self.open is None or self.open.segment is not segment:
            if self.open is not None:
                self.let_go(tuple(self.open.inputs))
            self.open = None
            if segment is not None:
                enters = entering(segment)
                self.open = Frame(segment, {v: self.env.get(v, (self.fixed, None)) for v in enters})

    def let_go(self, values):
        """Drop the arguments of a segment that ends, which its caller has held all the while."""
        self.left.subtract(values)
        for value in values:
            if self.left[value] <= 0:
                self.env.pop(value, None)

    def block(self, value):
        return self.env[value][0] if value in self.env else self.fixed

    def forward(self, call):
        saved = self.run(call, self.env, self.left, self.block, saves=call.need and call.segment is None)
        grad = None
        if call.need:
            grad = self.derivative(call, self.env, saved)
            self.waiting[call] = ref(grad)
            if call.segment is not None and self.program.record(call).keeps:
                grad.frame = self.open
                self.open.grads[call] = ref(grad)
        self.finish(call, self.env, self.left, grad)

    def derivative(self, call, env, saved):
        """Return the node that waits for a call's cotangent; it holds those of its inputs."""
        before = [env[v][1] for v in call.ins if v.need and v in env]
        return Grad(call, saved, before=[grad for grad in before if grad is not None])

    def run(self, call, env, left, block, *, saves):
        """Make what a call makes, and return what its derivative saves."""
        for value in call.outs[1 if call.node.op.alias else 0 :]:
            env[value] = (self.new(value.nbytes), None)
        if call.node.op.alias:
            env[call.outs[0]] = (block(call.ins[0]), None)
        if not saves:
            return {}
        values = dict(zip((*call.node.ins, *call.node.outs), (*call.ins, *call.outs), strict=True))
        reads = {name: block(values[name]) for name in self.program.record(call).reads}
        return {**reads, **self.copies(call)}

    def finish(self, call, env, left, grad):
        """Let go of what nobody reads any more."""
        env[call.outs[0]] = (env[call.outs[0]][0], grad)
        left.subtract(call.ins)
        for value in (*call.ins, *call.outs):
            if left[value] <= 0:
                env.pop(value, None)

    # ---- backward ----

    def backward(self, loss):
        seed = self.new(loss.nbytes)
        self.buffers[loss] = (seed, False)
        self.missing = self.expected(loss)
        for call in reversed(self.program.calls):
            if call.outs[0] in self.buffers:
                self.back(call, self.waiting[call]())
                self.accumulate(call)

    def expected(self, loss):
        """Count the cotangents that each value will get."""
        found, reached = Counter(), {loss}
        for call in reversed(self.program.calls):
            if call.need and call.outs[0] in reached:
                values = [call.ins[slot] for slot in self.program.record(call).results]
                found.update(values)
                reached.update(values)
        return found

    def back(self, call, grad):
        """Run a derivative, let go of its cotangent and of what it saved, and hand its results on."""
        if grad.frame is not None and not grad.frame.ran:
            self.again(grad.frame)
        frame = [] if grad.frame is None else [block for block, _ in grad.frame.inputs.values()]
        self.heap.saved |= {block.number for block in (*grad.saved.values(), *frame)}
        del frame
        results = self.emulate(call, grad.saved, {G: self.buffers.pop(call.outs[0])})
        grad.saved, grad.frame = {}, None
        for slot, (block, view) in results.items():
            value = call.ins[slot]
            self.missing[value] -= 1
            if value in self.buffers:
                results = {**results, -1 - slot: (self.new(value.nbytes), False)}
                self.buffers[value] = results[-1 - slot]
            else:
                self.buffers[value] = (block, view)

    def emulate(self, call, saved, local):
        record = self.program.record(call)
        kept = {G, *record.results.values()}
        left = Counter(name for _, ins, _ in record.ops for name in ins)
        for op, ins, outs in record.ops:
            for name in outs[1 if op.alias else 0 :]:
                local[name] = (self.new(self.program.nbytes(record.known[name], call.at)), False)
            if op.alias:
                source = local.get(ins[0]) or (saved.get(ins[0], self.fixed), True)
                local[outs[0]] = (source[0], True)
                del source
            left.subtract(ins)
            for name in {*ins, *outs} - kept:
                if left[name] <= 0:
                    local.pop(name, None)
        return {slot: local[name] for slot, name in record.results.items()}

    def accumulate(self, call):
        """Take over the gradients of leaves that are complete; one that another value holds is copied."""
        for value in dict.fromkeys(call.ins):
            if value.role in ("weight", "input") and value in self.buffers and not self.missing[value]:
                block, view = self.buffers.pop(value)
                self.take(value, block, view)
                del block

    def take(self, value, block, view):
        fresh = value not in self.filled and not (value.role == "weight" and self.policy.grads == "kept")
        if view and fresh:
            raise Exotic(value.role)
        if fresh and any(other is block for other, _ in self.buffers.values()):
            block = self.new(value.nbytes)
        if fresh and not (value.role == "weight" and self.policy.update == "fused"):
            self.accumulated[value] = block
        self.filled.add(value)

    # ---- running again ----

    def again(self, frame):
        """Run a segment again with saving, up to its last saved tensor or to its end."""
        frame.ran, segment = True, frame.segment
        todo = [*segment.before, *segment.calls]
        env, left = {}, Counter(value for call in todo for value in call.ins)
        inside = set(segment.calls)
        ends = {self.program.get(name, {}) for name in self.program.graph.outputs}
        left.update(v for c in segment.calls for v in c.outs if v in ends or set(v.readers) - inside)
        last, runs = self.stop(todo, len(segment.before))

        def block(value):
            return env[value][0] if value in env else frame.inputs.get(value, (self.fixed, None))[0]

        for position, call in enumerate(todo[: last + 1]):
            saves = call.need and position >= len(segment.before)
            self.once_more(call, env, left, block, frame, saves=saves, runs=runs or position < last)

    def once_more(self, call, env, left, block, frame, *, saves, runs):
        """Run one call of a segment again, or only save what enters it where the rest is not needed."""
        if runs:
            saved = self.run(call, env, left, block, saves=saves)
            self.heap.again[call.node.label] += not call.node.op.alias
        else:
            values = dict(zip(call.node.ins, call.ins, strict=True))
            saved = {name: block(values[name]) for name in self.program.record(call).reads}
        waiting = frame.grads.get(call, lambda: None)()
        if saves and waiting is not None:
            waiting.saved = saved
        if runs:
            self.finish(call, env, left, self.derivative(call, env, saved) if saves else None)

    def stop(self, todo, before):
        """Return the position of the last call that runs again, and whether its kernel runs."""
        if self.policy.checkpoint.recompute == "full":
            return len(todo) - 1, True
        for position in range(len(todo) - 1, before - 1, -1):
            call = todo[position]
            if call.need and (record := self.program.record(call)).keeps:
                return position, any(n in call.node.outs for n in record.reads) or bool(record.extra)
        return -1, False


def entering(segment):
    """Return the values that a segment reads and does not make."""
    todo = [*segment.before, *segment.calls]
    made = {value for call in todo for value in call.outs}
    return {value for call in todo for value in call.ins if value not in made}


def held_by(grad):
    """Return the blocks that a derivative holds, itself, by its frame, or by those before it."""
    todo, seen, found = [grad], set(), []
    while todo:
        one = todo.pop()
        if one is None or id(one) in seen:
            continue
        seen.add(id(one))
        enters = one.frame.inputs.values() if one.frame is not None else ()
        found += [*one.saved.values(), *(block for block, _ in enters)]
        todo += [*one.before, *(past for _, past in enters)]
    return found


def counted(graph, policy, sizes):
    """Return the heap of a step, and the one of what is saved alone.

    Segments are those of one repeat here; where layers of several follow each other, others count them.
    """
    if policy.checkpoint.kind in ("every", "sqrt", "store-nothing") and structure(graph).several:
        raise Exotic("segments of layers go on through several repeats")
    whole = Oracle(graph, policy, sizes).heap
    return whole, Oracle(graph, policy, sizes, only=whole.saved).heap
