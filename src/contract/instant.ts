/**
 * An instant as text: ISO 8601, in UTC.
 *
 * Owns: the one place that formats frequent instants. Never: reads a clock.
 */

let last = { at: Number.NaN, text: "" };

/**
 * Returns the text of an instant in epoch ms. The last text is kept, because formatting costs more than folding an
 * event.
 */
export function instantText(at: number): string {
  if (last.at !== at) last = { at, text: new Date(at).toISOString() };
  return last.text;
}
