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

/**
 * The due time of a workflow that nothing but a person's order, or another event of the ledger, lets go on; epoch ms.
 * It is the last instant that texts of instants hold.
 */
export const neverDue = Date.UTC(9999, 11, 31, 23, 59, 59, 999);
