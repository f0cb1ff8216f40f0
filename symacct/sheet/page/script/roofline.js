// ---- the roofline ----

const PICTURE = { width: 560, height: 380, left: 52, right: 14, top: 14, bottom: 42 };
const MOST_DOTS = 12;

/** The picture and its caption; nothing where no op both works and moves bytes. */
function roofline(found, machine) {
  const drawn = found.ops.filter(isPoint).sort((a, b) => order(b.time, a.time)).slice(0, MOST_DOTS).map(pointOf);
  if (!drawn.length) return [];
  const whole = isPoint({ ...found, time: found.total }) ? pointOf({ ...found, time: found.total }) : null;
  const roofs = roofsOf(found, machine);
  const bandwidth = toDouble(read(machine.bandwidth));
  const to = scales([...drawn, ...(whole ? [whole] : [])], roofs, bandwidth);
  const total = toDouble(found.total);
  const label = whole ? `${say("roofline")}: ${machine.name}. ${pointText(say("whole"), whole)}` : say("roofline");
  const { width, height } = PICTURE;
  const picture = draw("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label, class: "roofline" },
    ...axes(to), ...roofLines(roofs, bandwidth, to),
    ...drawn.map((one) => dot(one, to, total)), ...(whole ? [diamond(whole, to)] : []));
  const marks = say("dot: an op, its area its share of the time; hollow where memory binds; diamond: the whole");
  return [make("h3", {}, say("roofline")), picture, make("figcaption", {}, marks)];
}

const isPoint = ({ flops, moved, time }) => ![flops, moved, time].some(isZero);

function pointOf(one) {
  const { flops, moved, time, binds, op } = one;
  return { x: toDouble(over(flops, moved)), y: toDouble(over(flops, time)), time: toDouble(time), binds, label: op?.label };
}

/** The rates of work that the ops use. */
function roofsOf(found, machine) {
  const used = new Map(found.ops.flatMap(({ op }) => op.loads).map((one) => [`${one.unit} ${one.dtype}`, one]));
  const rates = new Map();
  for (const load of used.values()) {
    const rate = rateOf(machine, load);
    const name = load.unit === "tensor" || machine.one_peak ? load.dtype : say("{0}, other work", load.dtype);
    if (rate) rates.set(name, { name, rate, y: toDouble(rate) });
  }
  return [...rates.values()].sort((a, b) => a.y - b.y);
}

/** Where intensities and rates lie in the picture: log axes from decade to decade, so that points move and axes stay. */
function scales(points, roofs, bandwidth) {
  const ridges = roofs.map((one) => one.y / bandwidth);
  const xs = [...points.map((one) => one.x), ...ridges];
  const x = [Math.floor(Math.log10(Math.min(...xs) / 1.5)), Math.ceil(Math.log10(Math.max(...xs) * 2))];
  const tops = [...roofs.map((one) => one.y), ...points.map((one) => one.y)];
  const bottom = Math.min(10 ** x[0] * bandwidth, ...points.map((one) => one.y));
  const y = [Math.floor(Math.log10(bottom) + 1e-9), Math.ceil(Math.log10(Math.max(...tops) * 1.2))];
  const { width, height, left, right, top, bottom: below } = PICTURE;
  const part = (value, [low, high]) => (Math.log10(value) - low) / (high - low);
  return {
    x: (value) => left + part(value, x) * (width - left - right),
    y: (value) => height - below - part(value, y) * (height - top - below),
    ranges: { x, y },
  };
}

const place = (value) => value.toFixed(1);

function lineOf(x1, y1, x2, y2, kind) {
  return draw("line", { x1: place(x1), y1: place(y1), x2: place(x2), y2: place(y2), class: kind });
}

function textAt(x, y, text, anchor, more = {}) {
  return draw("text", { x: place(x), y: place(y), "text-anchor": anchor, ...more }, text);
}

function axes(to) {
  const { width, height, left, right, top, bottom } = PICTURE;
  const decades = ([low, high]) => Array.from({ length: high - low + 1 }, (_, step) => low + step)
    .filter((_, step) => step % Math.ceil((high - low) / 8) === 0);
  const across = decades(to.ranges.x).flatMap((ten) => [
    lineOf(to.x(10 ** ten), top, to.x(10 ** ten), height - bottom, "grid"),
    textAt(to.x(10 ** ten), height - bottom + 15, `10${raised(ten)}`, "middle")]);
  const up = decades(to.ranges.y).flatMap((ten) => [
    lineOf(left, to.y(10 ** ten), width - right, to.y(10 ** ten), "grid"),
    textAt(left - 6, to.y(10 ** ten) + 4, `10${raised(ten)}`, "end")]);
  const turned = { transform: `rotate(-90 12 ${height / 2})` };
  return [...across, ...up, textAt((left + width - right) / 2, height - 6, say("intensity, FLOP/byte"), "middle"),
    textAt(12, height / 2, say("rate, FLOP/s"), "middle", turned)];
}

/** The slope of the bandwidth up to the highest roof, the flat roofs from their ridges on, and the ridges. */
function roofLines(roofs, bandwidth, to) {
  const { width, height, right, bottom } = PICTURE;
  const start = 10 ** to.ranges.x[0];
  const end = Math.max(...roofs.map((one) => one.y / bandwidth), start);
  const slope = roofs.length ? [lineOf(to.x(start), to.y(start * bandwidth), to.x(end), to.y(end * bandwidth), "roof")] : [];
  const angle = Math.atan2(to.y(end * bandwidth) - to.y(start * bandwidth), to.x(end) - to.x(start)) * (180 / Math.PI);
  const middle = Math.sqrt(start * end);
  const [x, y] = [to.x(middle), to.y(middle * bandwidth)];
  const named = textAt(x, y - 6, short(bandwidth, "byte/s"), "middle",
    { transform: `rotate(${place(angle)} ${place(x)} ${place(y)})` });
  const flat = roofs.flatMap((one) => {
    const ridge = to.x(one.y / bandwidth);
    return [lineOf(ridge, to.y(one.y), width - right, to.y(one.y), "roof"),
      lineOf(ridge, to.y(one.y), ridge, height - bottom, "ridge"),
      textAt(width - right - 2, to.y(one.y) - 5, `${one.name}, ${short(one.rate, "FLOP/s")}`, "end")];
  });
  return [...slope, ...(roofs.length ? [named] : []), ...flat];
}

const pointText = (name, { x, y }) => `${name}: ${short(x, "FLOP/byte")}, ${short(y, "FLOP/s")}`;

function dot(one, to, total) {
  const share = one.time / total;
  const kind = one.binds === "memory" ? "dot hollow" : "dot";
  const words = `${pointText(one.label, one)}, ${percent(share)}, ${say(one.binds)}`;
  return draw("circle", { cx: place(to.x(one.x)), cy: place(to.y(one.y)), r: place(3 + 7 * Math.sqrt(share)), class: kind },
    draw("title", {}, words));
}

function diamond(one, to) {
  const [x, y] = [to.x(one.x), to.y(one.y)];
  const corners = [[0, -8], [8, 0], [0, 8], [-8, 0]].map(([right, down]) => `${place(x + right)},${place(y + down)}`);
  return draw("polygon", { points: corners.join(" "), class: "diamond" }, draw("title", {}, pointText(say("whole"), one)));
}
