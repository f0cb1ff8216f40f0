// ---- rows ----

const NONE = "–";
const MOST_BARS = 6;
const OTHERS = "others";
const PAIRS = new Map([["claimed", "right"], ["left side", "right side"]]);

/** The calculator of a row of the sheet; it stands below its formula. */
class Row extends View {
  constructor(data) {
    super(data, data.uses);
    this.row = document.getElementById(data.id);
    this.cell = this.row.cells[1].firstElementChild;
    this.printed = [...this.cell.childNodes];
    const most = Math.max(...Object.values(data.variants).map((one) => one.results?.length ?? 0));
    this.outputs = Array.from({ length: most }, (_, place) => output(data.id, { "data-place": place }));
    this.labels = this.outputs.map(() => make("span", { class: "label" }));
    this.apart = make("p", { class: "apart" });
    this.note = make("p", { class: "note" });
    this.shares = make("details", { class: "shares" }, make("summary"), make("ul", { class: "bars" }));
    this.place();
  }

  place() {
    const results = this.outputs.map((one, place) => make("div", { class: "result" }, this.labels[place], one));
    const box = make("div", { class: "calc" }, make("div", { class: "fields" }, ...this.controls(false)),
      make("div", { class: "results" }, ...results, this.apart, this.why, this.note, this.shares));
    this.quiet(box);
    this.row.classList.add("has-live");
    this.row.after(make("tr", { class: "live" }, make("td", { colspan: this.row.cells.length }, box)));
  }

  draw() {
    this.settle();
    this.showFormula();
    const done = this.attempt(() => {
      this.ready();
      const { results } = this.variant;
      this.show(results, results.map((one) => this.value(one.expr)));
    });
    if (!done) this.empty();
  }

  /** The formula of the choices that are made; the printed one where they are as printed. */
  showFormula() {
    const changed = this.choices.some(([one, field]) => field.text !== one.value);
    const { note, formula, results } = this.variant;
    this.note.textContent = (results.length && note) || (changed ? say("above: the choices and the verdict as printed") : "");
    this.note.hidden = !this.note.textContent;
    if (changed && formula) this.cell.innerHTML = formula; // Python made it; no reader's text is in it
    else this.cell.replaceChildren(...this.printed);
  }

  /** Only where every size that the row shows is accepted. */
  ready() {
    for (const { field } of this.used()) if (field.problem) throw new Refusal(field.problem);
    super.ready();
  }

  show(results, values) {
    this.empty("");
    results.forEach(({ unit }, place) => setOutput(this.outputs[place], values[place], unit));
    this.showApart(results, values);
    const summed = results.findLastIndex((one) => one.terms.length > 1);
    this.shares.hidden = summed < 0 || !this.showShares(results[summed], values[summed]);
  }

  /** How far what is claimed is from what is right, as a share of that. */
  showApart(results, values) {
    const place = results.findIndex((one, at) => PAIRS.has(one.label) && PAIRS.get(one.label) === results[at + 1]?.label);
    this.apart.hidden = place < 0 || isZero(values[place + 1]);
    if (this.apart.hidden) return;
    const [first, second] = [values[place], values[place + 1]];
    const share = over(minus(first, second), second);
    const [one, other] = [say(results[place].label), say(results[place + 1].label)];
    if (isZero(share)) {
      this.apart.hidden = true;
      this.labels[place].textContent = say("{0} = {1}", one, other);
      this.outputs[place + 1].parentElement.hidden = true;
      return;
    }
    this.apart.textContent = say("{0} against {1}: {2}", one, other, difference(share));
  }

  /** Which terms dominate; whether shares say it: not of 0, nor with a negative part. */
  showShares(result, whole) {
    const labelled = (name) => this.sizes.find((one) => one.name === name)?.label ?? name;
    const named = (label) => (label === OTHERS ? OTHERS : asFormula(label).replace(/\bn\d+\b/g, labelled));
    const terms = result.terms.map(({ label, expr }) => [named(label), this.value(expr)]);
    if (isZero(whole) || terms.some(([, value]) => order(value, ZERO) < 0)) return false;
    const shares = sharesOf(terms, whole);
    this.shares.firstChild.textContent = say("most: {0}, {1}", shares[0][0], percent(shares[0][1]));
    this.shares.lastChild.replaceChildren(...shares.map(([label, share]) => bar(label, share)));
    return true;
  }

  /** No numbers; a label for each that the choices have. */
  empty(text = NONE) {
    const { results } = this.variant;
    this.outputs.forEach((one, place) => {
      clear(one, text);
      one.parentElement.hidden = place > 0 && place >= results.length;
      this.labels[place].textContent = results[place]?.label ? say(results[place].label) : "";
    });
    this.apart.hidden = true;
    this.shares.hidden = true;
  }
}

/** Shares of a whole, the largest first; the smallest of many together at the end, whatever they come to. */
function sharesOf(terms, whole) {
  const all = terms.map(([label, value]) => [label, over(value, whole)]).sort((a, b) => order(b[1], a[1]));
  const named = all.filter(([label]) => label !== OTHERS);
  const kept = named.slice(0, all.length <= MOST_BARS ? MOST_BARS : MOST_BARS - 1);
  if (kept.length === all.length) return kept;
  return [...kept, [say("all others"), minus(sum(all.map(([, share]) => share)), sum(kept.map(([, share]) => share)))]];
}
