// ---- start ----

function button(words, act) {
  const made = make("button", { type: "button" }, say(words));
  made.addEventListener("click", act);
  return made;
}

/** What a reader cannot see from the top: the benches below, and that sizes are shared. */
function guide() {
  const benches = VIEWS.filter((view) => view instanceof Bench);
  const shared = [...SCOPES.keys()].some((scope) => VIEWS.filter(({ data }) => data.scope === scope).length > 1);
  const jumps = benches.map(({ box, title }) => {
    const made = make("button", { type: "button", class: "jump" }, `${title} ↓`);
    made.addEventListener("click", () => {
      box.scrollIntoView();
      box.firstChild.focus({ preventScroll: true });
    });
    return made;
  });
  const said = shared ? [make("span", {}, say("sizes of one graph are linked: set in one place, they change in all"))] : [];
  return jumps.length || said.length ? [make("p", { class: "guide" }, ...jumps, ...said)] : [];
}

function start() {
  for (const one of DATA.rows ?? []) new Row(one);
  for (const one of DATA.benches ?? []) new Bench(one);
  const tools = make("div", { class: "tools" }, button("copy link", copyLink), button("reset", reset), SAID);
  document.getElementById("tools").replaceChildren(tools, ...guide());
  matchMedia(NARROW).addEventListener("change", () => VIEWS.forEach((view) => view.refresh()));
  document.documentElement.classList.add("is-live");
  addEventListener("hashchange", () => link.read());
  link.read();
}

start();
