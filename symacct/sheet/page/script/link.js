// ---- the link ----

const LONGEST_LINK = 20000;
const MOST_NAMED = 5;

/** The inputs that differ from their start, in the part of the address after `#`. */
const link = {
  waiting: 0,

  text() {
    const changed = [...FIELDS.values()].filter((one) => !one.problem && one.text !== one.start);
    return changed.map((one) => `${encodeURIComponent(one.key)}=${encodeURIComponent(one.text)}`).join("&");
  },

  later() {
    clearTimeout(this.waiting);
    this.waiting = setTimeout(() => this.write(), 250);
  },

  write() {
    clearTimeout(this.waiting);
    const text = this.text();
    const bare = location.href.split("#")[0];
    if (`#${text}` !== location.hash) history.replaceState(null, "", text ? `#${text}` : bare);
  },

  /** Sets all inputs as the address says; what it says wrongly is left out, and named. */
  read() {
    const ignored = [];
    const found = new Map();
    const text = location.hash.slice(1, LONGEST_LINK);
    for (const one of text.split("&").filter(Boolean)) {
      const [key, value] = decoded(one);
      if (value !== null && FIELDS.has(key)) found.set(FIELDS.get(key), value);
      else ignored.push(key);
    }
    for (const field of FIELDS.values()) {
      field.set(found.get(field) ?? field.start);
      if (!field.problem) continue;
      ignored.push(`${field.key} = ${field.text}`);
      field.set(field.start);
    }
    VIEWS.forEach((view) => view.refresh());
    tell(ignored.length ? say("ignored in the link: {0}", listed(ignored)) : "");
  },
};

function decoded(entry) {
  const place = entry.indexOf("=");
  try {
    const [key, value] = [entry.slice(0, place), entry.slice(place + 1)].map(decodeURIComponent);
    return place < 0 ? [decodeURIComponent(entry), null] : [key, value];
  } catch {
    return [entry, null];
  }
}

function listed(names) {
  const shown = names.slice(0, MOST_NAMED).map((one) => (one.length > MOST_LETTERS ? `${one.slice(0, MOST_LETTERS)}…` : one));
  const more = names.length - shown.length;
  return [...shown, ...(more ? [say("and {0} more", more)] : [])].join(", ");
}

const SAID = make("span", { class: "said", role: "status" });

function tell(text) {
  SAID.textContent = text;
}

async function copyLink() {
  link.write();
  try {
    await navigator.clipboard.writeText(location.href);
    tell(say("copied"));
  } catch {
    tell(say("the link stands in the address bar"));
  }
}

function reset() {
  for (const field of FIELDS.values()) field.set(field.start);
  VIEWS.forEach((view) => view.refresh());
  link.write();
  tell("");
}
