/** Secrets in texts: they are removed from log lines and from the causes of an operator's failure. */

export const hidden = "[redacted]";

/**
 * Patterns of secrets: JSON web tokens, text after the name of an authentication scheme or of a secret, and credentials
 * in an address.
 */
const secrets: readonly (readonly [RegExp, string])[] = [
  [/\beyJ[\w-]{4,}\.[\w-]+\.[\w-]*/g, hidden],
  [/\b(?:bearer|basic|digest)\s+[\w.~+/=-]+/gi, hidden],
  [
    /\b(?:authorization|cookie|set-cookie|password|passwd|secret|token|api[_-]?key|idempotency-key)["']?\s*[:=]\s*["']?[^\s"',;]+/gi,
    hidden,
  ],
  [/(\b[a-z][a-z0-9+.-]*:\/\/)[^\s/@]+@/gi, `$1${hidden}@`],
];

/** Returns the text without the secrets that can be recognised by their form. */
export const scrubSecrets = (text: string): string =>
  secrets.reduce((left, [pattern, shown]) => left.replace(pattern, shown), text);
