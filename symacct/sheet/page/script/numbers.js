// ---- numbers as people read them ----

const DIGITS = 4;
const WRITTEN_OUT = 10n ** 24n;
const SMALL = 10n ** 6n;
const SI = [["", 0], ["k", 3], ["M", 6], ["G", 9], ["T", 12], ["P", 15], ["E", 18]];
const BINARY = [["", 0], ["Ki", 10], ["Mi", 20], ["Gi", 30], ["Ti", 40], ["Pi", 50], ["Ei", 60]];
const COUNTING = [["", 0], ["M", 6], ["B", 9], ["T", 12]];
const PREFIXED = new Set(["FLOP", "FLOP/s", "byte/s"]);
const COUNTED = new Set(["parameter", "token", "token/s"]);
const TIMES = [["day", 86400n, 1n], ["hour", 3600n, 1n], ["minute", 60n, 1n], ["s", 1n, 1n],
  ["ms", 1n, 1000n], ["µs", 1n, 10n ** 6n], ["ns", 1n, 10n ** 9n]];
const RAISED = "⁰¹²³⁴⁵⁶⁷⁸⁹";

const grouped = (digits) => String(digits).replace(/\B(?=(\d{3})+$)/g, ",");
const raised = (whole) => String(whole).replace("-", "⁻").replace(/\d/g, (digit) => RAISED[digit]);
const signed = (value, text) => (order(value, ZERO) < 0 ? `−${text}` : text);
const magnitude = (value) => RULES.abs([value]);

/** The first digits of a positive number, rounded, and the power of ten of the first of them. */
function leading(value, count) {
  if (!isExact(value)) {
    const [digits, ten] = value.toExponential(count - 1).split("e");
    return [digits.replace(".", ""), Number(ten)];
  }
  const { n, d } = value;
  const shifted = (ten) => (ten < 0 ? [n * 10n ** BigInt(-ten), d] : [n, d * 10n ** BigInt(ten)]);
  let ten = String(n).length - String(d).length;
  if (((a, b) => a < b)(...shifted(ten))) ten -= 1;
  const [above, below] = shifted(ten - count + 1);
  const rounded = String((2n * above + below) / (2n * below));
  return [rounded.slice(0, count), ten + rounded.length - count];
}

/** A positive number to four digits, as `1,234`, `12.35` or `0.001235`; with a power of ten where that is shorter. */
function plainDigits(value) {
  if (isZero(value) || value === 0) return "0";
  if (isWhole(value) && value.n < SMALL) return grouped(value.n);
  const [digits, ten] = leading(value, DIGITS);
  if (ten >= DIGITS && ten < 6) return grouped(digits.padEnd(ten + 1, "0"));
  if (ten < -4 || ten >= 6) return `${pointed(digits, 0)} × 10${raised(ten)}`;
  return ten < 0 ? pointed("0".repeat(-ten) + digits, 0) : pointed(digits, ten);
}

/** Digits with a point after the first of them and so many more; zeros at the end are left out. */
function pointed(digits, place) {
  const part = digits.slice(place + 1).replace(/0+$/, "");
  const whole = grouped(digits.slice(0, place + 1).padEnd(place + 1, "0"));
  return part ? `${whole}.${part}` : whole;
}

/** A positive number with the largest prefix that leaves at least 1, after rounding. */
function prefixed(value, prefixes, unit, base = 10n) {
  const parts = prefixes.map(([name, ten]) => [name, over(value, fraction(base ** BigInt(ten)))]);
  const fitting = parts.findLast(([name, part]) => name === "" || order(part, ONE) >= 0);
  const next = parts[parts.indexOf(fitting) + 1];
  const tooLong = next && base === 10n && plainDigits(roundedTo(fitting[1])) === "1,000";
  const [name, part] = tooLong ? next : fitting;
  if (name === prefixes.at(-1)[0] && base === 10n && order(part, fraction(1000n)) >= 0) {
    return `${plainDigits(value)} ${unit}`;
  }
  return `${plainDigits(roundedTo(part))} ${name}${unit}`;
}

/** The number that four digits say. */
function roundedTo(value) {
  if (isZero(value) || value === 0) return ZERO;
  const [digits, ten] = leading(value, DIGITS);
  const shift = ten - DIGITS + 1;
  return shift < 0 ? fraction(BigInt(digits), 10n ** BigInt(-shift)) : fraction(BigInt(digits) * 10n ** BigInt(shift));
}

function seconds(value) {
  const named = TIMES.map(([name, n, d]) => [name, over(value, fraction(n, d))]);
  const [name, part] = named.find((one) => order(one[1], ONE) >= 0) ?? named.at(-1);
  return isZero(value) ? "0 s" : `${plainDigits(part)} ${name}`;
}

/** A number to four digits with its unit: `1.234 TFLOP`, `80 GB = 74.51 GiB`. */
function short(value, unit) {
  const named = unit.replace("second", "s");
  const positive = magnitude(value);
  return signed(value, positively(positive, named));
}

function positively(value, unit) {
  if (unit === "s") return seconds(value);
  if (unit === "1") return plainDigits(value);
  if (unit === "byte" && order(value, fraction(1000n)) >= 0) {
    return `${prefixed(value, SI, "B")} = ${prefixed(value, BINARY, "B", 2n)}`;
  }
  if (PREFIXED.has(unit)) return prefixed(value, SI, unit.replace("byte/s", "B/s"));
  if (COUNTED.has(unit) && order(value, fraction(SMALL)) < 0) return `${plainDigits(value)} ${unit}`;
  if (COUNTED.has(unit)) return prefixed(value, COUNTING, "").trim().replace(/ (?=[MBT]$)/, "") + ` ${unit}`;
  return `${plainDigits(value)} ${unit}`;
}

/** The exact number, where it is whole, can be written out, and four digits do not say it all. */
function written(value) {
  if (!isExact(value) || order(roundedTo(magnitude(value)), magnitude(value)) === 0) return "";
  return value.d === 1n && size(value.n) < WRITTEN_OUT ? signed(value, grouped(size(value.n))) : "";
}

/** The text of a number with a power of ten where that is much shorter: `2e12`. */
function compact(text) {
  const [, digits, zeros] = /^([1-9]\d*?)(0*)$/.exec(text) ?? [];
  if (!digits) return text;
  const ten = digits.length + zeros.length - 1;
  const made = `${digits[0]}${digits.length > 1 ? "." : ""}${digits.slice(1)}e${ten}`;
  return made.length + 3 < text.length ? made : text;
}

const exactly = ({ n, d }) => (d === 1n ? `${n}` : `${n}/${d}`);

/** A term as people write it: `72 b s h² L` for `72*b*s*h^2*L`; any other text as it is. */
function asFormula(text) {
  return text.includes("/") && !text.includes("*") ? text : text.replace(/\^(\d+)/g, (_, ten) => raised(ten)).replaceAll("*", "\u2009");
}

/** How far one number is from another: `+4.0 %`, `less than 0.1 % below`. */
function difference(share) {
  const below = order(share, ZERO) < 0;
  if (Math.abs(toDouble(share)) < 0.0005) return say(below ? "less than {0} below" : "less than {0} above", "0.1 %");
  return (below ? "" : "+") + percent(share);
}

/** A share as a percentage: to one digit, a large one to four digits. */
function percent(share) {
  const value = toDouble(share) * 100;
  const far = Math.abs(value);
  if (far >= 1000) return `${signed(value, plainDigits(far))} %`;
  return `${signed(value, far < 0.05 && far ? "< 0.1" : far.toFixed(1))} %`;
}
