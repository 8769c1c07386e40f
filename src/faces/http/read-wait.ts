/**
 * Reads the Prefer header (RFC 7240), of which one preference is used: `wait=SECONDS`. Unknown preferences are ignored,
 * as the RFC states, and of two the first counts.
 */

/** Returns the time that the caller would wait, in ms; undefined if the header has none. */
export function readWait(header: string | undefined): number | undefined {
  const [, seconds] = /(?:^|,)\s*wait\s*=\s*"?(\d{1,6})"?\s*(?:[,;]|$)/i.exec(header ?? "") ?? [];
  return seconds === undefined ? undefined : Number(seconds) * 1_000;
}
