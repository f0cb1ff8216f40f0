"use strict";
/* The live half of a sheet. Python derived every formula and wrote it down as data (`sheet-data`); this script types
   no cost formula in. It works the data out at the reader's sizes: in exact fractions, wherever a formula is rational.
   Nothing is asked of a network, and what a reader or a link says is only ever set as text. */

const DATA = JSON.parse(document.getElementById("sheet-data").textContent);

// ---- words ----

/** A sentence in the language of the sheet, its {0}, {1}, ... filled in. */
function say(text, ...parts) {
  const known = DATA.words ?? {};
  const words = Object.hasOwn(known, text) ? known[text] : text;
  return words.replace(/\{(\d)\}/g, (_, place) => parts[place]);
}

/** Why there is no number, in words for the reader. */
class Refusal extends Error {
  constructor(text, ...parts) {
    super(say(text, ...parts));
  }
}

// ---- exact numbers ----
// A value is a fraction {n, d} of whole numbers in lowest terms, d > 0; a double only where a root or a logarithm is
// no fraction.

const MOST_BITS = 1 << 16;
const LARGEST_ROOT = 64n;
const PLAIN = 1n << 53n;
const NEAR = 1e-11;
const NUMBER = /^([+-]?)(\d*)(?:\.(\d*))?(?:e([+-]?\d{1,3}))?$/i;

const isExact = (value) => typeof value !== "number";
const size = (whole) => (whole < 0n ? -whole : whole);
const isPlain = (whole) => whole < PLAIN && whole > -PLAIN;
const bits = (whole) => (isPlain(whole) ? 53 : size(whole).toString(16).length * 4);

function divisor(a, b) {
  while (b) [a, b] = [b, a % b];
  return a;
}

function fraction(n, d = 1n) {
  if (d === 0n) throw new Refusal("a division by 0");
  if (d < 0n) [n, d] = [-n, -d];
  if (d !== 1n) {
    const common = divisor(size(n), d);
    [n, d] = [n / common, d / common];
  }
  if (bits(n) > MOST_BITS || bits(d) > MOST_BITS) throw new Refusal("too large to be written out");
  return { n, d };
}

const ZERO = fraction(0n);
const ONE = fraction(1n);

/** A fraction from `12`, `-5/2`, `0.5`, `1e6`; null where the text is none. */
function read(text) {
  const [above, below, ...more] = text.trim().split("/").map(readDecimal);
  if (more.length || !above || below === null || below?.n === 0n) return null;
  return below ? over(above, below) : above;
}

function readDecimal(text) {
  const found = NUMBER.exec(text.trim());
  if (!found || !(found[2] || found[3])) return null;
  const [, sign, whole, part = "", power = "0"] = found;
  const digits = BigInt(sign + whole + part);
  const shift = Number(power) - part.length;
  return shift < 0 ? fraction(digits, 10n ** BigInt(-shift)) : fraction(digits * 10n ** BigInt(shift));
}

function double(value) {
  if (!Number.isFinite(value)) throw new Refusal("too large to be written out");
  return value;
}

/** The nearest double, also of whole numbers that are too long for one. */
function toDouble(value) {
  if (!isExact(value)) return value;
  const { n, d } = value;
  if (isPlain(n) && isPlain(d)) return Number(n) / Number(d);
  const up = 80 - bits(n) + bits(d);
  const quotient = up < 0 ? n / (d << BigInt(-up)) : (n << BigInt(up)) / d;
  return double(Number(quotient) * 2 ** (-up / 2) * 2 ** (-up / 2));
}

function plus(a, b) {
  if (!isExact(a) || !isExact(b)) return double(toDouble(a) + toDouble(b));
  return a.d === 1n && b.d === 1n ? fraction(a.n + b.n) : fraction(a.n * b.d + b.n * a.d, a.d * b.d);
}

function times(a, b) {
  if (isZero(a) || isZero(b)) return ZERO;
  return isExact(a) && isExact(b) ? fraction(a.n * b.n, a.d * b.d) : double(toDouble(a) * toDouble(b));
}

const isZero = (value) => isExact(value) && value.n === 0n;
const minus = (a, b) => plus(a, times(fraction(-1n), b));
const over = (a, b) => times(a, power(b, fraction(-1n)));
const sum = (values) => values.reduce(plus, ZERO);

/** Below 0, 0 or above 0, as a is less than, equal to or more than b. */
function order(a, b) {
  if (!isExact(a) || !isExact(b)) return toDouble(a) - toDouble(b);
  const left = a.n * b.d;
  const right = b.n * a.d;
  return left < right ? -1 : left > right ? 1 : 0;
}

const largest = (a, b) => (order(a, b) < 0 ? b : a);
const least = (a, b) => (order(a, b) > 0 ? b : a);

/** The whole k-th root, or null where the number is no k-th power. */
function root(whole, k) {
  if (k === 1n || whole < 2n) return whole;
  if (k > LARGEST_ROOT) return null;
  let guess = 1n << BigInt(Math.ceil(bits(whole) / Number(k)));
  for (;;) {
    const next = ((k - 1n) * guess + whole / guess ** (k - 1n)) / k;
    if (next >= guess) return guess ** k === whole ? guess : null;
    guess = next;
  }
}

function power(base, exponent) {
  if (!isExact(base) || !isExact(exponent)) return doublePower(base, exponent);
  const { n: up, d: down } = exponent;
  if (isZero(base) && up < 0n) throw new Refusal("a division by 0");
  if (base.n < 0n && down !== 1n) throw new Refusal("a root of a negative number");
  const [n, d] = [root(base.n, down), root(base.d, down)];
  if (n === null || d === null) return doublePower(base, exponent);
  if (up && size(n) < 2n && d === 1n) return fraction(n ** (up % 2n ? 1n : 2n));
  if (Math.max(longest(n), longest(d)) * Number(size(up)) > MOST_BITS) {
    throw new Refusal("too large to be written out");
  }
  return up < 0n ? fraction(d ** -up, n ** -up) : fraction(n ** up, d ** up);
}

const longest = (whole) => size(whole).toString(2).length;

function doublePower(base, exponent) {
  const [a, b] = [toDouble(base), toDouble(exponent)];
  if (a < 0) throw new Refusal("a root of a negative number");
  if (a === 0 && b < 0) throw new Refusal("a division by 0");
  return double(a ** b);
}

function logarithm(value) {
  if (order(value, ZERO) <= 0) throw new Refusal("a logarithm of a number that is not positive");
  return order(value, ONE) === 0 ? ZERO : double(Math.log(toDouble(value)));
}

const MOST_FACTORS = 1500n;

/** What a factorial or a binomial is taken of: an integer, of at least 0 where that is asked for. */
function counted(value, least) {
  if (!isExact(value) || value.d !== 1n || (least !== undefined && value.n < least)) {
    throw new Refusal("a factorial or binomial of what is no whole number");
  }
  return value.n;
}

function factorial(value) {
  const whole = counted(value, 0n);
  if (whole > MOST_FACTORS) throw new Refusal("too large to be written out");
  let found = 1n;
  for (let factor = 2n; factor <= whole; factor += 1n) found *= factor;
  return fraction(found);
}

/** The number of ways to take some of a number of things: 0 for fewer than none, and for more than there are. */
function binomial(above, below) {
  const [whole, taken] = [counted(above, 0n), counted(below)];
  const few = taken < whole - taken ? taken : whole - taken;
  if (few < 0n) return ZERO;
  if (few > MOST_FACTORS) throw new Refusal("too large to be written out");
  let found = 1n;
  for (let step = 1n; step <= few; step += 1n) found = (found * (whole - few + step)) / step;
  return fraction(found);
}

function floor(value) {
  if (isExact(value)) {
    const { n, d } = value;
    return fraction(n / d - (n < 0n && n % d ? 1n : 0n));
  }
  const near = Math.round(value);
  if (Math.abs(value - near) <= NEAR * Math.max(1, Math.abs(value))) {
    throw new Refusal("too close to a whole number to be told apart");
  }
  return fraction(BigInt(Math.floor(value)));
}

const negative = (value) => times(fraction(-1n), value);
