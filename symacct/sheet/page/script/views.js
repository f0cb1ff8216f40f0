// ---- what rows and benches share ----

/** A calculator: controls of its sizes and choices, and a place where it says why there is no number. */
class View {
  constructor(data, uses) {
    this.data = data;
    this.choices = (data.choices ?? []).map((one) => [one, choiceField(`${data.id}.${one.name}`, one.value, one.values)]);
    this.sizes = uses.map((name) => SCOPES.get(data.scope)?.get(name)).filter(Boolean);
    this.fields = [...this.sizes.map((one) => one.field), ...this.choices.map(([, field]) => field)];
    this.boxes = new Map();
    this.selects = [];
    this.names = new Map();
    this.why = make("p", { class: "why", id: `${data.id}-why`, hidden: "" });
    VIEWS.push(this);
  }

  get texts() {
    return this.choices.map(([, field]) => field.text);
  }

  get variant() {
    return this.of(this.fitting());
  }

  of(texts) {
    const { variants } = this.data;
    const found = variants[texts.join("|")];
    return typeof found === "string" ? variants[found] : found;
  }

  refused(texts) {
    const { note, results, quantities } = this.of(texts);
    return Boolean(note) && !(results ?? quantities).length;
  }

  /** The choices that are computed: those that are made; a bench puts others where they do not go together. */
  fitting() {
    return this.texts;
  }

  /** What of the data a variant is worked out from. */
  parts(variant) {
    return [variant.conditions, variant.results];
  }

  /** Sizes that the chosen variant has. */
  used() {
    const { variant } = this;
    if (!this.names.has(variant)) this.names.set(variant, namesIn(this.parts(variant)));
    return this.sizes.filter((one) => this.names.get(variant).has(one.name));
  }

  /** Shows the sizes that these choices use, and takes away the choices that they refuse. */
  settle() {
    const [made, used] = [this.fitting(), new Set(this.used())];
    for (const one of this.sizes) this.boxes.get(one).hidden = used.size > 0 && !used.has(one);
    this.selects.forEach((select, place) => {
      for (const option of select.options) option.disabled = this.refused(made.with(place, option.value));
      select.value = made[place];
      select.disabled = [...select.options].every((one) => one.disabled || one.value === made[place]);
    });
  }

  /** What evaluates formulas now, where the choices and their conditions allow a number. */
  ready() {
    const { note, results, quantities, conditions } = this.variant;
    if (!(results ?? quantities).length) throw new Refusal(note);
    this.value = evaluator(this.data.scope);
    require(conditions, this.value);
  }

  /** Controls in order: sizes, then choices; each with its label. */
  controls(withMeaning) {
    const made = this.sizes.map((one) => this.sizeControl(one, withMeaning));
    this.sizes.forEach((one, place) => this.boxes.set(one, made[place]));
    const chosen = this.choices.map(([one, field]) => this.select(one.name, field, one.values.map((v) => [v, v])));
    this.selects = chosen.map((one) => one.lastChild);
    return [...made, ...chosen];
  }

  sizeControl(one, withMeaning) {
    const id = `${this.data.id}-${one.name}`;
    const kind = one.integer ? { type: "number", step: "1", min: one.least || "1" }
      : { type: "text", inputmode: "decimal", maxlength: String(MOST_LETTERS), spellcheck: "false", class: "grows" };
    const meaning = one.meaning && one.meaning !== one.label ? one.meaning : "";
    const input = make("input", { id, autocomplete: "off", title: meaning, "aria-describedby": this.why.id, ...kind });
    const name = one.label || one.name;
    const label = make("label", { for: id, title: meaning }, make(/^[a-z]/i.test(name) ? "var" : "span", {}, ...breakable(name)));
    if (one.unit && !name.includes(one.unit)) label.append(" ", make("span", { class: "unit" }, one.unit));
    if (meaning) label.append(make("span", { class: withMeaning ? "meaning" : "unseen" }, ` ${meaning}`));
    return make("span", { class: "field" }, label, one.field.bind(input));
  }

  select(name, field, values) {
    const id = `${this.data.id}-${name}`;
    const select = make("select", { id }, ...values.map(([value, title]) => make("option", { value }, title)));
    return make("span", { class: "field" }, make("label", { for: id }, say(name)), field.bind(select));
  }

  /** Works something out, or says why not; returns whether it was. */
  attempt(work) {
    try {
      work();
      this.why.hidden = true;
      return true;
    } catch (error) {
      const refused = error instanceof Refusal;
      if (!refused) console.error(error);
      this.why.textContent = refused ? error.message : say("an error of this page: {0}", String(error));
      this.why.hidden = false;
      return false;
    }
  }

  /** Draws anew; what fails shows no number, and stops no other calculator. */
  refresh() {
    let failed = null;
    try {
      this.draw();
    } catch (error) {
      failed = error;
    }
    if (!failed) return;
    this.attempt(() => {
      throw failed;
    });
    this.quantities?.replaceChildren();
    this.held?.replaceChildren();
    this.empty();
  }

  /** Outputs speak only while the reader is at this calculator. */
  quiet(box) {
    const speak = (how) => box.querySelectorAll("output").forEach((one) => one.setAttribute("aria-live", how));
    box.addEventListener("focusin", () => speak("polite"));
    box.addEventListener("focusout", () => speak("off"));
  }
}

/** An output that tests and people read: the number to four digits, the exact one below it. */
function output(of, attributes, htmlFor = "") {
  return make("output", { "data-of": of, "aria-live": "off", ...(htmlFor ? { for: htmlFor } : {}), ...attributes });
}

function setOutput(element, value, unit, text = short(value, unit)) {
  clear(element);
  element.setAttribute(isExact(value) ? "data-exact" : "data-value", isExact(value) ? exactly(value) : String(value));
  element.append(make("span", { class: "short" }, text));
  const exact = written(value);
  if (exact) element.append(make("span", { class: "exact" }, exact));
}

/** No number: nothing that was there before may be read as one. */
function clear(element, text = "") {
  element.removeAttribute("data-exact");
  element.removeAttribute("data-value");
  element.replaceChildren(...(text ? [make("span", { class: "short none" }, text)] : []));
}
