/** Spans of time in words. */

const units = [
  ["day", 86_400_000],
  ["hour", 3_600_000],
  ["minute", 60_000],
  ["second", 1000],
] as const;

/** Returns a span in the largest unit that fits: `2 hours`. @param ms its length, of either sign */
export function tellSpan(ms: number): string {
  const [unit, length] = units.find(([, size]) => Math.abs(ms) >= size) ?? units[3];
  const n = Math.floor(Math.abs(ms) / length);
  return `${n} ${unit}${n === 1 ? "" : "s"}`;
}

/** Returns a span in its largest unit; of hours or days also the next smaller one: `1 day 23 hours`. */
export function tellClosely(ms: number): string {
  const at = units.findIndex(([, size]) => Math.abs(ms) >= size);
  const [, length] = units[at] ?? units[3];
  const [, smaller] = units[at + 1] ?? units[3];
  const rest = Math.abs(ms) % length;
  const isLong = Math.abs(ms) >= 3_600_000;
  return isLong && rest >= smaller ? `${tellSpan(ms)} ${tellSpan(rest)}` : tellSpan(ms);
}
