/** Secrets in texts: what is taken out of a log line, and out of what an operator's failure says of its causes. */

export const hidden = "[redacted]";

/** JSON web tokens, what follows the name of a scheme or stands behind a name for a secret, and credentials in an address. */
const secrets: readonly (readonly [RegExp, string])[] = [
  [/\beyJ[\w-]{4,}\.[\w-]+\.[\w-]*/g, hidden],
  [/\b(?:bearer|basic|digest)\s+[\w.~+/=-]+/gi, hidden],
  [
    /\b(?:authorization|cookie|set-cookie|password|passwd|secret|token|api[_-]?key|idempotency-key)["']?\s*[:=]\s*["']?[^\s"',;]+/gi,
    hidden,
  ],
  [/(\b[a-z][a-z0-9+.-]*:\/\/)[^\s/@]+@/gi, `$1${hidden}@`],
];

/** The text without the secrets that can be told by their form. */
export const scrubSecrets = (text: string): string =>
  secrets.reduce((left, [pattern, shown]) => left.replace(pattern, shown), text);
