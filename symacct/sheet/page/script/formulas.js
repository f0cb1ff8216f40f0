// ---- formulas: prefix arrays, sizes as {"s": name}, numbers as text ----

const RULES = {
  "+": sum,
  "*": (values) => values.reduce(times, ONE),
  "^": ([base, exponent]) => power(base, exponent),
  "max": (values) => values.reduce(largest),
  "min": (values) => values.reduce(least),
  "floor": ([value]) => floor(value),
  "ceil": ([value]) => negative(floor(negative(value))),
  "abs": ([value]) => largest(value, negative(value)),
  "log": ([value]) => logarithm(value),
  "factorial": ([value]) => factorial(value),
  "binomial": ([above, below]) => binomial(above, below),
};
const READ = new Map();
const MOST_TERMS = 100000n;

/** The value of a formula at sizes: a map, or what has its `get`. Shared parts are worked out once for the same sizes. */
function evaluate(expr, sizes, shared = new Map()) {
  const value = (part) => evaluate(part, sizes, shared);
  if (typeof expr === "string") return constant(expr);
  if (!Array.isArray(expr)) return named(expr, sizes, shared);
  const [rule, ...parts] = expr;
  if (rule === "sum") return summed(parts, sizes, value);
  if (!Object.hasOwn(RULES, rule)) throw new Refusal("{0} is not a formula that this page knows", String(rule));
  return RULES[rule](parts.map(value));
}

function named({ s: name, e: place }, sizes, shared) {
  if (place === undefined) {
    const found = sizes.get(name);
    if (!found) throw new Refusal("{0} has no value", String(name));
    return found;
  }
  if (!shared.has(place)) shared.set(place, evaluate(DATA.exprs[place], sizes, shared));
  return shared.get(place);
}

/** The sum of a body for an index from low to high, both included. */
function summed([index, low, high, body], sizes, value) {
  const [first, last] = [value(low), value(high)];
  if (!isWhole(first) || !isWhole(last) || last.n - first.n >= MOST_TERMS) {
    throw new Refusal("too large to be written out");
  }
  let found = ZERO;
  for (let turn = first.n; turn <= last.n; turn += 1n) {
    const inside = { get: (name) => (name === index ? fraction(turn) : sizes.get(name)) };
    found = plus(found, evaluate(body, inside));
  }
  return found;
}

function constant(text) {
  if (!READ.has(text)) READ.set(text, read(text));
  const value = READ.get(text);
  if (!value) throw new Refusal("{0} is not a formula that this page knows", text);
  return value;
}

/** Refuses where a condition does not hold. */
function require(conditions, value) {
  for (const { text, form, left, right } of conditions) {
    if (!holds(form, value(left), value(right))) throw new Refusal("holds only where {0}", text);
  }
}

function holds(form, left, right) {
  if (form === "|") return !isZero(left) && isWhole(over(right, left));
  const apart = order(left, right);
  const doubtful = !(isExact(left) && isExact(right));
  if (doubtful && Math.abs(apart) <= NEAR * Math.max(Math.abs(toDouble(left)), Math.abs(toDouble(right)))) {
    throw new Refusal("too close to equal to be told apart");
  }
  const forms = { ">=": apart >= 0, ">": apart > 0, "=": apart === 0, "<=": apart <= 0, "<": apart < 0 };
  if (!Object.hasOwn(forms, form)) throw new Refusal("{0} is not a formula that this page knows", form);
  return forms[form];
}

const isWhole = (value) => isExact(value) && value.d === 1n;
