/**
 * An instant as text: ISO 8601, in UTC.
 *
 * Owns: the one place that formats what is formatted often. Never: reads a clock.
 */

let last = { at: Number.NaN, text: "" };

/** Of epoch ms. The text of the last instant is kept: formatting one costs more than folding an event. */
export function instantText(at: number): string {
  if (last.at !== at) last = { at, text: new Date(at).toISOString() };
  return last.text;
}
