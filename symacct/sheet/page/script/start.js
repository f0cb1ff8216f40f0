// ---- start ----

function button(words, act) {
  const made = make("button", { type: "button" }, say(words));
  made.addEventListener("click", act);
  return made;
}

function start() {
  for (const one of DATA.rows ?? []) new Row(one);
  for (const one of DATA.benches ?? []) new Bench(one);
  const tools = make("div", { class: "tools" }, button("copy link", copyLink), button("reset", reset), SAID);
  document.getElementById("tools").replaceChildren(tools);
  document.documentElement.classList.add("is-live");
  addEventListener("hashchange", () => link.read());
  link.read();
}

start();
