// ---- time on a machine: for each op the largest of its resources, for a graph the sum ----

const RESOURCES = ["tensor", "vector", "memory"];

/** An op's seconds by resource; `unknown` names the formats whose work has no rate there. */
function timeOf(op, machine, value) {
  const found = { tensor: ZERO, vector: ZERO, memory: ZERO };
  const unknown = [];
  let flops = ZERO;
  for (const load of op.loads) {
    const work = value(load.flops);
    flops = plus(flops, work);
    const rate = rateOf(machine, load);
    const resource = machine.one_peak ? "tensor" : load.unit;
    if (rate) found[resource] = plus(found[resource], over(work, rate));
    else unknown.push(load.dtype);
  }
  const moved = value(op.moved);
  if (!machine.bandwidth) throw new Refusal("{0} states no bandwidth", machine.name);
  found.memory = over(moved, read(machine.bandwidth));
  const used = RESOURCES.filter((name) => !isZero(found[name]));
  const binds = used.reduceRight((best, name) => (best && order(found[name], found[best]) <= 0 ? best : name), null);
  return { op, flops, moved, found, unknown, binds, time: binds ? found[binds] : ZERO };
}

/** Work a second; null where the machine states none for work that is not contractions. */
function rateOf(machine, load) {
  const byPeak = load.unit === "tensor" || machine.one_peak;
  const table = (byPeak ? machine.peaks : machine.vectors) ?? {};
  if (Object.hasOwn(table, load.dtype)) return read(table[load.dtype]);
  if (byPeak) throw new Refusal("{0} has no peak in {1}", machine.name, load.dtype);
  return null;
}

/** A graph on a machine: its ops, their sums, and what would bind were all ops to overlap. */
function timing(all, machine, value) {
  const ops = all.map((op) => timeOf(op, machine, value));
  const total = sum(ops.map((one) => one.time));
  const totals = ["memory", "tensor", "vector"].map((name) => [name, sum(ops.map((one) => one.found[name]))]);
  const [binds] = totals.reduce((best, one) => (order(one[1], best[1]) > 0 ? one : best));
  return {
    ops, total, binds: isZero(total) ? null : binds,
    flops: sum(ops.map((one) => one.flops)), moved: sum(ops.map((one) => one.moved)),
    unknown: [...new Set(ops.flatMap((one) => one.unknown))].sort(),
  };
}
