/**
 * The Prefer header (RFC 7240), of which one preference is heeded: `wait=SECONDS`. What is not understood is passed over,
 * as the RFC says, and of two the first counts.
 */

/** Returns how long the caller would wait, in ms; undefined where nothing is said of it. */
export function readWait(header: string | undefined): number | undefined {
  const [, seconds] = /(?:^|,)\s*wait\s*=\s*"?(\d{1,6})"?\s*(?:[,;]|$)/i.exec(header ?? "") ?? [];
  return seconds === undefined ? undefined : Number(seconds) * 1_000;
}
