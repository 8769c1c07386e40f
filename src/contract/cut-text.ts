/**
 * Shortens text for lists, on one line or as it is, to a number of UTF-16 units. The result ends in `…` if something
 * was left out.
 */

/** Returns at most `max` UTF-16 units of a text; a surrogate pair is never split. */
export function cutText(text: string, max: number): string {
  if (text.length <= max) return text.toWellFormed();
  return `${text
    .slice(0, max - 1)
    .replace(/[\ud800-\udbff]$/, "")
    .toWellFormed()}…`;
}

/**
 * Returns the text with each run of white space as one space, cut to `max` units. It does not read far beyond the cut.
 */
export const cutToLine = (text: string, max: number): string =>
  cutText(
    text
      .slice(0, 4 * max)
      .replace(/\s+/g, " ")
      .trim(),
    max,
  );
