// ---- the roofline ----

const PICTURE = { width: 560, height: 400, right: 14, top: 14 };
const MOST_DOTS = 40;
const MOST_LABELS = 3;
const [LARGEST_DOT, LEAST_DOT] = [15, 1.5];
const LETTERS = { wide: 12, narrow: 17, breadth: 0.6 };
const ROWS = [0, ...Array.from({ length: 16 }, (_, step) => (1.2 + 0.6 * step)).flatMap((row) => [row, -row])];
const STEPS = 3;
const NARROW = "screen and (max-width: 60rem)";

/** The picture and its caption; nothing where no op both works and moves bytes. */
function roofline(found, machine) {
  const letter = matchMedia(NARROW).matches ? LETTERS.narrow : LETTERS.wide;
  Object.assign(PICTURE, { letter, left: 4.4 * letter, bottom: 3.4 * letter });
  const drawn = found.ops.filter(isPoint).sort((a, b) => order(b.time, a.time)).slice(0, MOST_DOTS).map(pointOf);
  if (!drawn.length) return [];
  const whole = isPoint({ ...found, time: found.total }) ? pointOf({ ...found, time: found.total }) : null;
  const roofs = roofsOf(found, machine);
  const bandwidth = toDouble(read(machine.bandwidth));
  const to = scales([...drawn, ...(whole ? [whole] : [])], roofs, bandwidth);
  const label = whole ? `${say("roofline")}: ${machine.name}. ${pointText(say("whole"), whole)}` : say("roofline");
  const { width, height } = PICTURE;
  const labels = new Labels();
  const spots = drawn.map((one) => ({ one, x: to.x(one.x), y: to.y(one.y), r: radius(one.time / drawn[0].time) }));
  for (const { x, y, r } of spots) labels.keep(around(x, y, r * 0.8));
  if (whole) labels.keep(around(to.x(whole.x), to.y(whole.y), 9));
  const picture = draw("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label, class: "roofline", "font-size": letter },
    ...axes(to), ...roofLines(roofs, bandwidth, to, labels), ...dots(spots, toDouble(found.total), labels),
    ...(whole ? [diamond(whole, to)] : []), ...labels.drawn);
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

/** Where intensities and rates lie in the picture: log axes that end at thirds of decades, as points and roofs need. */
function scales(points, roofs, bandwidth) {
  const third = (round, value) => round(Math.log10(value) * STEPS) / STEPS;
  const xs = [...points.map((one) => one.x), ...roofs.map((one) => one.y / bandwidth)];
  const ys = [...points.map((one) => one.y), ...roofs.map((one) => one.y)];
  const x = [third(Math.floor, Math.min(...xs) / 1.5), third(Math.ceil, Math.max(...xs) * 3)];
  const y = [third(Math.floor, Math.min(...ys) / 1.5), third(Math.ceil, Math.max(...ys) * 1.5)];
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
  const { width, height, left, right, top, bottom, letter } = PICTURE;
  const decades = ([low, high]) => Array.from({ length: Math.floor(high) - Math.ceil(low) + 1 }, (_, step) => Math.ceil(low) + step)
    .filter((_, step) => step % Math.ceil((high - low) / 8) === 0);
  const across = decades(to.ranges.x).flatMap((ten) => [
    lineOf(to.x(10 ** ten), top, to.x(10 ** ten), height - bottom, "grid"),
    textAt(to.x(10 ** ten), height - bottom + 1.3 * letter, `10${raised(ten)}`, "middle")]);
  const up = decades(to.ranges.y).flatMap((ten) => [
    lineOf(left, to.y(10 ** ten), width - right, to.y(10 ** ten), "grid"),
    textAt(left - 6, to.y(10 ** ten) + 4, `10${raised(ten)}`, "end")]);
  const turned = { transform: `rotate(-90 ${letter} ${height / 2})` };
  return [...across, ...up, textAt((left + width - right) / 2, height - 6, say("intensity, FLOP/byte"), "middle"),
    textAt(letter, height / 2, say("rate, FLOP/s"), "middle", turned)];
}

// ---- labels that do not run into one another ----

const around = (x, y, r) => ({ x0: x - r, x1: x + r, y0: y - r, y1: y + r });

/** Texts of the picture: each stands at the first of its places that is free; one that finds none is left out. */
class Labels {
  constructor() {
    this.taken = [];
    this.drawn = [];
  }

  keep(box) {
    this.taken.push(box);
  }

  isFree({ x0, x1, y0, y1 }) {
    const { width, height, left, right, top, bottom } = PICTURE;
    const inside = x0 >= left && x1 <= width - right && y0 >= top && y1 <= height - bottom;
    return inside && !this.taken.some((one) => x0 < one.x1 && x1 > one.x0 && y0 < one.y1 && y1 > one.y0);
  }

  /** Places are [x, y, anchor] of a base line. */
  put(text, places, kind = "") {
    const { letter } = PICTURE;
    const wide = letter * LETTERS.breadth * text.length;
    for (const [x, y, anchor] of places) {
      const x0 = x - { start: 0, middle: wide / 2, end: wide }[anchor];
      const box = { x0, x1: x0 + wide, y0: y - letter, y1: y + 0.3 * letter };
      if (!this.isFree(box)) continue;
      this.keep(box);
      this.drawn.push(textAt(x, y, text, anchor, kind ? { class: kind } : {}));
      return box;
    }
    return null;
  }
}

/** The slope of the bandwidth up to the highest roof, the flat roofs from their ridges on, and the ridges. */
function roofLines(roofs, bandwidth, to, labels) {
  if (!roofs.length) return [];
  const { width, height, right, bottom, left, letter } = PICTURE;
  const start = Math.max(10 ** to.ranges.x[0], 10 ** to.ranges.y[0] / bandwidth);
  const end = Math.max(...roofs.map((one) => one.y / bandwidth), start);
  const [[x0, y0], [x1, y1]] = [start, end].map((one) => [to.x(one), to.y(one * bandwidth)]);
  for (let at = 0; at <= 60; at += 1) labels.keep(around(x0 + ((x1 - x0) * at) / 60, y0 + ((y1 - y0) * at) / 60, 2));
  const flat = roofs.toReversed().flatMap((one) => {
    const [ridge, level] = [to.x(one.y / bandwidth), to.y(one.y)];
    labels.keep({ x0: ridge, x1: width - right, y0: level - 1, y1: level + 1 });
    const ends = [level - 5, level + letter].flatMap((y) => [[width - right - 2, y, "end"], [ridge + 8, y, "start"], [ridge - 8, y, "end"]]);
    if (!labels.put(`${one.name}, ${short(one.rate, "FLOP/s")}`, ends)) labels.put(one.name, ends);
    return [lineOf(ridge, level, width - right, level, "roof"), lineOf(ridge, level, ridge, height - bottom, "ridge")];
  });
  const along = [0.3, 0.45, 0.6, 0.15, 0.75].map((at) => [x0 + (x1 - x0) * at, y0 + (y1 - y0) * at]);
  labels.put(short(bandwidth, "byte/s"), [...along.map(([x, y]) => [x - 8, y - 4, "end"]), [left + 6, PICTURE.top + letter, "start"]]);
  return [lineOf(x0, y0, x1, y1, "roof"), ...flat];
}

// ---- ops ----

const pointText = (name, { x, y }) => `${name}: ${short(x, "FLOP/byte")}, ${short(y, "FLOP/s")}`;

const radius = (part) => Math.max(LEAST_DOT, LARGEST_DOT * Math.sqrt(part));

/** Dots, the largest below the others; the largest few by name. */
function dots(spots, total, labels) {
  const leads = spots.slice(0, MOST_LABELS).flatMap(({ one, r, x, y }) => {
    const [near, low] = [r + 4, PICTURE.letter * 0.35];
    const rows = ROWS.map((row) => y + low + row * PICTURE.letter);
    const spot = labels.put(`${lastOf(one.label)} ${percent(one.time / total)}`, [1, 3, 6].flatMap((far) =>
      rows.flatMap((line) => [[x + far * near, line, "start"], [x - far * near, line, "end"]])), "named");
    const end = spot && (spot.x0 > x ? spot.x0 : spot.x1);
    return spot ? [lineOf(x, y, end, (spot.y0 + spot.y1) / 2, "lead")] : [];
  });
  return [...leads, ...spots.map((spot) => dot(spot, total))];
}

/** The end of a path: `softmax/grad.scale` of `layers/attention/core/softmax/grad.scale`. */
const lastOf = (label) => label.split("/").slice(-2).join("/");

function dot({ one, r, x, y }, total) {
  const kind = one.binds === "memory" ? "dot hollow" : "dot";
  const words = `${pointText(one.label, one)}, ${percent(one.time / total)}, ${say(one.binds)}`;
  return draw("circle", { cx: place(x), cy: place(y), r: place(r), class: kind }, draw("title", {}, words));
}

function diamond(one, to) {
  const [x, y] = [to.x(one.x), to.y(one.y)];
  const corners = [[0, -8], [8, 0], [0, 8], [-8, 0]].map(([right, down]) => `${place(x + right)},${place(y + down)}`);
  return draw("polygon", { points: corners.join(" "), class: "diamond" }, draw("title", {}, pointText(say("whole"), one)));
}
