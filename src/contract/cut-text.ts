/**
 * Text for lists: on one line or as it is, of at most so many UTF-16 units, ending in `…` where something is left out.
 */

/** At most `max` units; never half a character. */
export function cutText(text: string, max: number): string {
  if (text.length <= max) return text.toWellFormed();
  return `${text
    .slice(0, max - 1)
    .replace(/[\ud800-\udbff]$/, "")
    .toWellFormed()}…`;
}

/** The same, with every stretch of white space as one space. What lies far behind the cut is not looked at. */
export const cutToLine = (text: string, max: number): string =>
  cutText(
    text
      .slice(0, 4 * max)
      .replace(/\s+/g, " ")
      .trim(),
    max,
  );
