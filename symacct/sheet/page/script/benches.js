// ---- benches ----

const MOST_OPS = 8;

/** A graph on a machine: quantities, time, what binds, memory against capacity, the roofline. */
class Bench extends View {
  constructor(data) {
    super(data, data.uses ?? [...SCOPES.get(data.scope).keys()]);
    this.hasMachine = data.needs_machine !== false && MACHINE !== null;
    if (this.hasMachine) this.fields.push(MACHINE);
    this.tiles = new Map();
    this.about = make("p", { class: "note" });
    this.held = make("div", { class: "held" });
    this.bound = make("div");
    this.figure = make("figure");
    this.quantities = make("tbody");
    this.ops = make("div", { class: "ops" });
    this.rest = make("details", {}, make("summary"), make("ul", { class: "bars" }));
    this.place();
  }

  place() {
    const { id, title, scope } = this.data;
    this.title = title === scope ? say("{0} on a machine", title) : title;
    const controls = this.controls(true);
    if (this.hasMachine) {
      controls.push(this.select("machine", MACHINE, [...MACHINES.values()].map((one) => [one.name, titled(one)])));
      controls.at(-1).classList.add("wide");
      this.machines = controls.at(-1).lastChild;
    }
    const fields = make("div", { class: "fields" }, ...controls);
    const tiles = make("div", { class: "tiles" });
    if (this.hasMachine) for (const name of ["time", "tokens/s", "mfu.bound", "binds"]) tiles.append(this.tile(name));
    const table = make("table", { class: "quantities" }, make("caption", {}, say("quantities")), this.quantities);
    const beside = make("div", { class: "beside" }, this.bound, this.held);
    const parts = this.hasMachine ? [this.figure, beside, table, this.ops] : [table];
    this.box = make("section", { class: "bench", id, "aria-labelledby": `${id}-title` },
      make("h2", { id: `${id}-title`, tabindex: "-1" }, this.title), fields, this.why, tiles, this.about,
      make("div", { class: "bench-body" }, ...parts));
    this.quiet(this.box);
    document.getElementById("benches").append(this.box);
  }

  tile(name) {
    const label = make("span", { class: "label" });
    const one = output(this.data.id, { "data-name": name });
    this.tiles.set(name, { label, one, box: make("div", { class: "tile" }, label, one) });
    return this.tiles.get(name).box;
  }

  /** As they are made; where they do not go together, one of them, the last that may, gives way. */
  fitting() {
    const { texts } = this;
    if (!this.refused(texts)) return texts;
    const others = this.choices.flatMap(([one], place) => [one.value, ...one.values].map((text) => texts.with(place, text)));
    return others.findLast((one) => !this.refused(one)) ?? texts;
  }

  parts({ conditions, quantities, ops, tokens, work }) {
    return [conditions, quantities, ops.map((place) => this.data.ops[place]), tokens, work];
  }

  draw() {
    this.settle();
    if (this.hasMachine) this.markMachines();
    const done = this.attempt(() => {
      this.ready();
      this.drawQuantities();
    });
    if (!done) this.quantities.replaceChildren();
    if (!this.hasMachine) return;
    this.held.replaceChildren();
    if (done && MACHINES.has(MACHINE.text)) this.drawHeld(MACHINES.get(MACHINE.text));
    if (!done || !this.attempt(() => this.drawTiming())) this.empty();
  }

  /** Machines that state too little for these choices cannot be chosen, and say why. */
  markMachines() {
    const loads = this.variant.ops.flatMap((place) => this.data.ops[place].loads);
    const used = [...new Map(loads.map((one) => [`${one.unit} ${one.dtype}`, one])).values()];
    for (const option of this.machines.options) {
      const machine = MACHINES.get(option.value);
      const lack = lackOf(machine, used);
      option.disabled = Boolean(lack);
      option.textContent = lack ? `${titled(machine)} · ${lack}` : titled(machine);
    }
  }

  drawQuantities() {
    this.values = new Map();
    this.quantities.replaceChildren(...this.variant.quantities.map((one) => this.quantity(one)));
  }

  /** The line of a quantity; one whose own conditions fail says so, and leaves the others alone. */
  quantity({ name, meaning, unit, expr, conditions }) {
    const shown = output(this.data.id, { "data-name": name });
    try {
      require(conditions ?? [], this.value);
      this.values.set(name, this.value(expr));
      setOutput(shown, this.values.get(name), unit);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      clear(shown, error.message);
    }
    return make("tr", {}, make("th", { scope: "row" }, meaning || name, " ", make("code", {}, name)), make("td", {}, shown));
  }

  drawTiming() {
    const machine = MACHINES.get(MACHINE.text);
    if (!machine) throw new Refusal("no such choice");
    const found = timing(this.variant.ops.map((place) => this.data.ops[place]), machine, this.value);
    this.drawTiles(found, machine);
    this.drawAbout(found, machine);
    this.drawBound(found);
    this.drawOps(found);
    this.figure.replaceChildren(...roofline(found, machine));
  }

  drawTiles(found, machine) {
    const { tokens, work, dtype, trains } = this.variant;
    if (isZero(found.total)) throw new Refusal("nothing takes time");
    this.setTile("time", trains ? "time of a step" : "time of a pass", found.total, "s");
    this.setTile("tokens/s", "tokens a second", tokens ? over(this.value(tokens), found.total) : null, "token/s");
    const done = work ? this.value(work) : null;
    const peak = done && !isZero(done) ? rateOf(machine, { unit: "tensor", dtype }) : ONE;
    const mfu = done && over(over(done, peak), found.total);
    this.setTile("mfu.bound", "MFU, at most", mfu, "1", mfu && percent(mfu));
    const { label, one } = this.tiles.get("binds");
    label.textContent = say("bound by");
    clear(one);
    one.append(make("span", { class: "short" }, say(found.binds)));
    one.setAttribute("data-binds", found.binds);
  }

  setTile(name, label, value, unit, text) {
    const tile = this.tiles.get(name);
    tile.label.textContent = say(label);
    tile.box.hidden = value === null;
    if (value === null) return clear(tile.one);
    return setOutput(tile.one, value, unit, text || undefined);
  }

  drawAbout(found, machine) {
    const missing = found.unknown.join(", ");
    const said = [this.drawChoices(), say("times are lower bounds: no launch and no communication is in them"), machine.bound,
      missing && say("{0} states no rate of other work in {1}: its bytes alone are timed", machine.name, missing),
      machine.source];
    this.about.textContent = said.filter(Boolean).join(". ");
  }

  /** The whole policy, and which choice gives way. */
  drawChoices() {
    const made = this.fitting();
    const given = this.choices.filter(([, field], place) => field.text !== made[place]);
    const said = given.map(([one, field]) =>
      say("{0} {1} is left out: {2}", say(one.name), field.text, this.of(this.texts).note));
    return [this.variant.policy, ...said].filter(Boolean).join(". ");
  }

  /** How much of the time each resource binds. */
  drawBound(found) {
    const shares = RESOURCES.map((name) => [name, sum(found.ops.filter((one) => one.binds === name).map((one) => one.time))]);
    const used = shares.filter(([, time]) => !isZero(time));
    this.bound.replaceChildren(make("h3", {}, say("share of the time, by what binds")),
      make("ul", { class: "bars" }, ...used.map(([name, time]) => bar(say(name), over(time, found.total), short(time, "s")))));
  }

  drawHeld(machine) {
    const names = this.variant.memory ?? [];
    const known = names.length && names.every((name) => this.values.has(name));
    if (!known) return;
    const [needed, head] = [sum(names.map((name) => this.values.get(name))), make("h3", {}, say("memory against capacity"))];
    if (machine.capacity) this.held.append(head, ...this.against(names.join(" + "), needed, read(machine.capacity)));
    else this.held.append(head, make("p", {}, say("{0} states no capacity", machine.name)));
  }

  against(name, needed, capacity) {
    const left = minus(capacity, needed);
    const fits = order(left, ZERO) >= 0;
    const words = say(fits ? "fits, {0} to spare" : "does not fit, {0} too much", short(magnitude(left), "byte"));
    const list = make("ul", { class: fits ? "bars" : "bars over" }, bar(name, over(needed, capacity)));
    const verdict = make("strong", { class: fits ? "good" : "bad", "data-fits": String(fits) }, words);
    return [list, make("p", {}, verdict, `; ${say("{0} of {1}", short(needed, "byte"), short(capacity, "byte"))}`)];
  }

  drawOps(found) {
    const sorted = [...found.ops].sort((a, b) => order(b.time, a.time));
    const shown = sorted.length > MOST_OPS + 1 ? sorted.slice(0, MOST_OPS) : sorted;
    const line = (one) => bar(one.op.label, over(one.time, found.total),
      `${short(one.time, "s")} · ${say(one.op.phase)} · ${one.binds ? say(one.binds) : NONE}`);
    const others = sorted.slice(shown.length);
    const rest = sum(others.map((one) => one.time));
    const list = make("ul", { class: "bars" }, ...shown.map(line));
    this.ops.replaceChildren(make("h3", {}, say("time by op")), list, ...(others.length ? [this.rest] : []));
    if (!others.length) return;
    list.append(bar(say("all others"), over(rest, found.total), short(rest, "s")));
    this.rest.firstChild.textContent = say("the others: {0}", others.length);
    this.rest.lastChild.replaceChildren(...others.map(line));
  }

  empty() {
    for (const { one } of this.tiles.values()) {
      clear(one, NONE);
      one.removeAttribute("data-binds");
    }
    this.about.textContent = this.drawChoices();
    const heads = [[this.figure, "roofline"], [this.bound, "share of the time, by what binds"], [this.ops, "time by op"]];
    for (const [part, head] of heads) part.replaceChildren(make("h3", {}, say(head)), make("p", { class: "note" }, NONE));
  }
}

const titled = ({ name, title }) => (title ? `${name} · ${title}` : name);

/** What a machine does not state of what these loads need; nothing where it states it. */
function lackOf(machine, loads) {
  if (!machine.bandwidth) return say("no bandwidth stated");
  const missing = loads.find((one) => (one.unit === "tensor" || machine.one_peak) && !Object.hasOwn(machine.peaks, one.dtype));
  return missing ? say("no peak in {0} stated", missing.dtype) : "";
}
