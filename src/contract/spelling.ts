/**
 * The reading of JSON that has one text for one content: the text that JSON.stringify gives.
 *
 * Owns: the spelling and the depth of nesting that the ledger's format allows. Never: reads what the content means.
 */

/** The levels of objects and lists that a text of the ledger may have. What a kernel writes has fewer. */
export const maxLevels = 2500;

/** The damage of a text: it is no JSON or nests too deeply (`format`), or it is not what JSON.stringify gives. */
export type TextDamage = "format" | "spelling";

/** Returns the content of a text, or what is wrong with the text. */
export function readSpelled(text: string): { readonly content: unknown; readonly damage: TextDamage | null } {
  try {
    const content: unknown = JSON.parse(text);
    if (!isWithinLevels(content, text)) return { content, damage: "format" };
    return { content, damage: JSON.stringify(content) === text ? null : "spelling" };
  } catch {
    return { content: null, damage: "format" };
  }
}

/** Returns whether the content of a text has at most `maxLevels` levels. Each level takes two characters. */
function isWithinLevels(content: unknown, text: string): boolean {
  if (text.length <= 2 * maxLevels) return true;
  let inside = [content].filter(isNest);
  for (let level = 1; inside.length > 0; level += 1) {
    if (level > maxLevels) return false;
    inside = inside.flatMap((nest) => Object.values(nest)).filter(isNest);
  }
  return true;
}

const isNest = (value: unknown): value is object => typeof value === "object" && value !== null;
