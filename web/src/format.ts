// Numbers and units as people read them, by the locale of the browser. Owns the choice of the unit and of the digits; the
// same prefixes as the text report: 1000 for rates, 1024 for sizes.

/** Locale of numbers; the browser's own unless a test says otherwise. */
let locale: string | undefined;

export function setLocale(name: string | undefined): void {
  locale = name;
}

const formats = new Map<string, Intl.NumberFormat>();

function number(value: number, digits: number): string {
  const key = `${locale ?? ""}/${digits}`;
  let format = formats.get(key);
  if (!format) {
    format = new Intl.NumberFormat(locale, { maximumSignificantDigits: digits, useGrouping: false });
    formats.set(key, format);
  }
  return format.format(value);
}

/** `value` in the largest of `units` (each `base` times the one before) in which it is at least 1. */
function scaled(value: number, base: number, units: readonly string[], digits: number): string {
  let at = 0;
  let left = value;
  // A value that rounds up to the next unit is written in that: 1 ms, not 1000 µs.
  // Where a unit is 1024 of the one before, three digits of 1024 are 1020.
  const isNext = (size: number) => size >= base || Number(size.toPrecision(digits)) >= base;
  while (at + 1 < units.length && isNext(Math.abs(left))) {
    left /= base;
    at += 1;
  }
  const unit = units[at];
  return unit ? `${number(left, digits)} ${unit}` : number(left, digits);
}

/** Operations per second: `58.0k` without a blank, as people say it. */
export function rate(value: number, digits = 3): string {
  return scaled(value, 1000, ["", "k", "M", "G"], digits).replace(" ", "");
}

/** Bytes per second, 1000-based: `475 MB/s`. */
export function bandwidth(value: number, digits = 3): string {
  return scaled(value, 1000, ["B/s", "kB/s", "MB/s", "GB/s", "TB/s"], digits);
}

/** Bytes, 1024-based: `8 KiB`. */
export function bytes(value: number, digits = 3): string {
  return scaled(value, 1024, ["B", "KiB", "MiB", "GiB", "TiB", "PiB"], digits);
}

/** A latency given in nanoseconds: `257 µs`. */
export function latency(ns: number, digits = 3): string {
  return scaled(ns, 1000, ["ns", "µs", "ms", "s"], digits);
}

/** A plain number. */
export function plain(value: number, digits = 3): string {
  return number(value, digits);
}

/** Operations in flight below which a mean of them says nothing but that hardly ever there was one. */
const inFlightLeast = 0.001;

/** Operations in flight, on average. */
export function inFlight(value: number): string {
  return value > 0 && value < inFlightLeast ? `< ${number(inFlightLeast, 1)}` : number(value, 3);
}

/** A whole number, in full: `1,234,567`. */
export function count(value: number): string {
  return new Intl.NumberFormat(locale, { maximumFractionDigits: 0 }).format(value);
}

/** What stands between whole and part of a number. */
const point = () => new Intl.NumberFormat(locale).formatToParts(1.5).find(({ type }) => type === "decimal")?.value ?? ".";

/** Numbers with a fraction that stand by themselves: versions, addresses and names have points, too. */
const fractions = /(?<![\w./:@])(?<!\w-)(\d+)\.(?=\d+(?![\d.]*\.\d)(?!\d))/g;

/** A text of the server with its numbers as the page writes them; in a column of numbers there is nothing else. */
export function inLocale(text: string, isNumber = false): string {
  return text.replace(isNumber ? /(\d)\.(?=\d)/g : fractions, `$1${point()}`);
}

/** A share between 0 and 1: `12 %`. */
export function share(value: number, digits = 2): string {
  return `${number(value * 100, digits)} %`;
}

/** A time on an axis, with its unit: `45 s`, `2 min`, `12:30 min`, `2 h`, `2:05 h`, `2:05:10 h`. */
export function clock(seconds: number): string {
  if (seconds < 60) return `${number(seconds, 4)} s`;
  const whole = Math.round(seconds);
  const two = (n: number) => String(n).padStart(2, "0");
  const [h, m, s] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60, whole % 60];
  if (h === 0) return s === 0 ? `${m} min` : `${m}:${two(s)} min`;
  const minutes = m === 0 && s === 0 ? "" : `:${two(m)}`;
  return `${h}${minutes}${s === 0 ? "" : `:${two(s)}`} h`;
}

/** Nines of a percentile: 0 is `0 %`, 2 is `99 %`, 0.30103 is `50 %`. */
export function nines(value: number): string {
  const digits = Math.max(2, Math.ceil(value) + 1);
  return `${number(100 * (1 - 10 ** -value), digits)} %`;
}

/** A length of time: `45 s`, `12 min 30 s`, `2 h 5 min`. */
export function duration(seconds: number): string {
  if (seconds < 60) return `${number(seconds, seconds < 10 ? 2 : 3)} s`;
  const whole = Math.round(seconds);
  const [h, m, s] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60, whole % 60];
  const parts = h > 0 ? [`${h} h`, m > 0 ? `${m} min` : ""] : [`${m} min`, s > 0 ? `${s} s` : ""];
  return parts.filter((part) => part !== "").join(" ");
}

/** A wall-clock time, milliseconds since 1970, in the reader's zone. */
export function moment(ms: number, hasSeconds = false): string {
  return new Date(ms).toLocaleString(locale, { dateStyle: "medium", timeStyle: hasSeconds ? "medium" : "short" });
}

/** Times of runs, with seconds where another of the same title began in the same minute. */
export function momentsOf(runs: { title: string; ms: number }[]): string[] {
  const short = runs.map(({ title, ms }) => `${moment(ms)} ${title}`);
  return runs.map(({ ms }, at) => moment(ms, short.indexOf(short[at]!) !== at || short.lastIndexOf(short[at]!) !== at));
}

/** A difference to a first value, as a share of it: `+12 %`. */
export function change(value: number, first: number): string {
  const share = value / first - 1;
  const digits = Math.abs(share) < 0.1 ? 1 : 0;
  const text = new Intl.NumberFormat(locale, { maximumFractionDigits: digits, signDisplay: "exceptZero" });
  return `${text.format(share * 100)} %`;
}

/** A change given as a share: `+3.1 %`. */
export function changed(share: number): string {
  return change(1 + share, 1);
}

/** What the server says, as a sentence that stands behind another one. */
export const sentence = (said: string): string => said.charAt(0).toUpperCase() + said.slice(1);

/** A name as it is shown: what would reorder or hide a part of it is made visible, as on the terminal (report/table.rs). */
export function visible(name: string): string {
  return name.replace(/[\p{Cc}\u202a-\u202e\u2066-\u2069]/gu, (sign) => `\\u{${(sign.codePointAt(0) ?? 0).toString(16)}}`);
}

/** What stands before decimals and between thousands where people write numbers like the reader. */
function separators(): { decimal: string; group: string } {
  const parts = new Intl.NumberFormat(locale).formatToParts(1_234_567.5);
  const of = (type: string) => parts.find((part) => part.type === type)?.value ?? "";
  return { decimal: of("decimal"), group: of("group") };
}

/**
 * A number as people type it, undefined for what is none: as it is written here, with or without groups of thousands, or
 * else with a point before its decimals, as in a job.
 */
function parseNumber(text: string): number | undefined {
  const { decimal, group } = separators();
  const [whole = "", decimals, ...more] = text.split(decimal);
  // Blanks between thousands are of several kinds, of which a keyboard has one.
  const groups = whole.split(group.trim() === "" ? /\s/ : group);
  const areGroups = groups.every((part, at) => (at === 0 ? /^\d{1,3}$/ : /^\d{3}$/).test(part));
  const isOne = areGroups || /^\d+$/.test(whole);
  if (isOne && more.length === 0 && (decimals === undefined || /^\d+$/.test(decimals)))
    return Number(`${areGroups ? groups.join("") : whole}.${decimals ?? 0}`);
  return /^\d+\.\d+$/.test(text) ? Number(text) : undefined;
}

/** A rate as people type it, per second: null for an empty text, undefined for one that is none. */
export function parseRate(text: string): number | null | undefined {
  const trimmed = text.trim();
  if (trimmed === "") return null;
  const parts = /^(.*?)\s*([kM]?)(?:\/s)?$/.exec(trimmed);
  const rate = (parseNumber(parts?.[1] ?? "") ?? 0) * (parts?.[2] === "k" ? 1e3 : parts?.[2] === "M" ? 1e6 : 1);
  return rate > 0 ? rate : undefined;
}
