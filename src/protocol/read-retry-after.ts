/** The pause that an HTTP answer asks for (RFC 9110 section 10.2.3), the same for models and for webhooks. */

/** A pause that an answer asks for is heeded up to this. */
const maxPauseMs = 600_000;

/**
 * Reads milliseconds from `retry-after-ms`, or from `retry-after` in seconds or as an HTTP date, which is relative to
 * the answer's own `date`: this machine's clock is not read. Returns null if the answer has none, or a time that has
 * passed.
 */
export function readRetryAfterMs(headers: unknown): number | null {
  const reported = namesOf(headers);
  const [after, date] = [reported.get("retry-after"), reported.get("date")];
  const waits = [
    readNumber(reported.get("retry-after-ms")),
    1000 * readNumber(after),
    readDate(after) - readDate(date),
  ];
  const wait = waits.find((candidate) => Number.isFinite(candidate) && candidate >= 0);
  return wait === undefined ? null : Math.min(maxPauseMs, Math.ceil(wait));
}

/** Headers by their names in small letters, whether they are a Headers object or a record. */
function namesOf(headers: unknown): ReadonlyMap<string, string> {
  if (typeof headers !== "object" || headers === null) return new Map();
  const entries = headers instanceof Headers ? [...headers] : Object.entries(headers);
  return new Map(entries.map(([name, value]) => [name.toLowerCase(), String(value).trim()]));
}

const readNumber = (text = ""): number => (/^\d+(?:\.\d+)?$/.test(text) ? Number(text) : Number.NaN);

/** Reads a text that begins like the date of a header; a year alone is none. */
const readDate = (text = ""): number => (/^[A-Za-z]{3,9},? /.test(text) ? Date.parse(text) : Number.NaN);
