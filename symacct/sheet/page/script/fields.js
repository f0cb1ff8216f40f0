// ---- elements ----

/** An element with attributes and children; a string is text, never markup. */
function make(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

function draw(tag, attributes = {}, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

/** A path that may be broken behind each of its parts. */
function breakable(label) {
  return label.split(/(?<=[/*])/).flatMap((part, place) => (place ? [make("wbr"), part] : [part]));
}

/** A bar of a share, and the share in words beside it. */
function bar(label, share, more = "") {
  const filled = make("span", { class: "filled" });
  filled.style.width = `${Math.max(0, Math.min(100, toDouble(share) * 100))}%`;
  return make("li", {}, make("span", { class: "name", title: label }, ...breakable(label)),
    make("span", { class: "track", "aria-hidden": "true" }, filled),
    make("span", { class: "share" }, percent(share)), ...(more ? [make("span", { class: "more" }, more)] : []));
}

// ---- fields: what a reader sets, and a link carries ----

const MOST_LETTERS = 40;
const LARGEST = { whole: fraction(10n ** 18n), any: fraction(10n ** 30n) };
const SMALLEST = fraction(1n, 10n ** 30n);
const FIELDS = new Map();
const VIEWS = [];

/** Something a reader sets. Its controls all show the same text; `problem` says why the text is not accepted. */
class Field {
  constructor(key, start, judge) {
    Object.assign(this, { key, start, judge, controls: [], text: "", problem: "", value: null });
    this.set(start);
    FIELDS.set(key, this);
  }

  set(text, source = null) {
    this.text = text;
    this.value = null;
    this.problem = "";
    try {
      this.value = this.judge(text);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      this.problem = error.message;
    }
    for (const control of this.controls) this.show(control, control === source);
  }

  show(control, isSource = false) {
    if (!isSource && control.value !== this.text) control.value = this.text;
    control.style.setProperty("--letters", `${this.text.length + 2}ch`);
    control.setAttribute("aria-invalid", String(Boolean(this.problem)));
    control.setCustomValidity?.(this.problem);
  }

  /** A control of this field; a change redraws what depends on it. */
  bind(control) {
    this.controls.push(control);
    this.show(control);
    control.addEventListener("input", () => {
      this.set(control.value, control);
      redraw(this);
      link.later();
    });
    return control;
  }
}

function sizeField(scope, one) {
  const name = one.label || one.name;
  const lowest = one.least ? read(one.least) : null;
  return new Field(`${scope}.${one.name}`, one.integer ? one.value : compact(one.value), (text) => {
    const value = text.length > MOST_LETTERS ? null : read(text);
    const most = one.integer ? LARGEST.whole : LARGEST.any;
    if (one.integer && (!value || !isWhole(value) || order(value, lowest ?? ONE) < 0)) {
      throw new Refusal("{0}: a whole number, {1} or more", name, grouped(exactly(lowest ?? ONE)));
    }
    if (!value || order(value, ZERO) <= 0) throw new Refusal("{0}: a number above 0, as 2, 0.5, 1/3 or 1e9", name);
    if (order(value, SMALLEST) < 0) throw new Refusal("{0}: at least {1}", name, "1e-30");
    if (order(value, most) > 0) throw new Refusal("{0}: at most {1}", name, positively(most, "1"));
    return value;
  });
}

function choiceField(key, start, values) {
  return new Field(key, start, (text) => {
    if (!values.includes(text)) throw new Refusal("no such choice");
    return text;
  });
}

const SCOPES = new Map(Object.entries(DATA.scopes).map(([scope, { sizes }]) => [
  scope, new Map(sizes.map((one) => [one.name, { ...one, field: sizeField(scope, one) }])),
]));
const MACHINES = new Map((DATA.machines ?? []).map((one) => [one.name, one]));
const MACHINE = DATA.benches?.length && MACHINES.size ? choiceField("machine", DATA.machine, [...MACHINES.keys()]) : null;

/** What evaluates formulas at the sizes of a scope now; it refuses with the reason where one is not accepted. */
function evaluator(scope) {
  const shared = new Map();
  const get = (name) => {
    const field = SCOPES.get(scope)?.get(name)?.field;
    if (field?.problem) throw new Refusal(field.problem);
    return field?.value;
  };
  return (expr) => evaluate(expr, { get }, shared);
}

/** Names of the sizes in formulas and in what holds them. */
function namesIn(data, found = new Set()) {
  if (Array.isArray(data)) for (const one of data) namesIn(one, found);
  else if (data?.e !== undefined) for (const name of sharedNames(data.e)) found.add(name);
  else if (data?.s !== undefined) found.add(data.s);
  else if (data && typeof data === "object") namesIn(Object.values(data), found);
  return found;
}

const NAMES = new Map();

function sharedNames(place) {
  if (!NAMES.has(place)) NAMES.set(place, namesIn(DATA.exprs[place]));
  return NAMES.get(place);
}

function redraw(field) {
  for (const view of VIEWS) if (view.fields.includes(field)) view.refresh();
}
