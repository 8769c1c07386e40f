/**
 * JSON text as the value that its writer meant, for every face and for what models write.
 *
 * 1. An object that names a member twice is refused: JSON.parse would keep the last, another reader the first.
 * 2. A value that a store would change is refused (`requireSafeJson`), and so is a number that is too small for a
 *    double and would be read as 0, such as 1e-400.
 */
import { NotJson, requireSafeJson } from "../contract/json.ts";

/**
 * Reads text as JSON of at most so many levels. @throws SyntaxError if it is not JSON; NotJson if it loses its meaning.
 */
export function parseSafeJson(text: string, maxDepth?: number): unknown {
  const value: unknown = JSON.parse(text);
  if (mayVanish.test(text)) requireNonzero(text);
  requireSafeJson(value, maxDepth);
  if (countMembers(value) !== countColons(text)) throw new NotJson("an object names a member twice", "");
  return value;
}

/** Matches what a number must hold to be read as 0 although it is not: a long negative exponent, or many zeros. */
const mayVanish = /[eE]-\d{2}|0{200}/;

/** @throws NotJson for a number that is not 0 and is read as 0. */
function requireNonzero(text: string): void {
  const read = (key: string, value: unknown, { source = "" }: { readonly source?: string }): unknown => {
    if (value === 0 && /[1-9]/.test(source.replace(/[eE].*/, "")))
      throw new NotJson(`the number ${source.slice(0, 40)} is too small to be kept, and would become 0`, key);
    return value;
  };
  // The type of the third argument is younger than the library of types.
  JSON.parse(text, read as Parameters<typeof JSON.parse>[1]);
}

/** Members of all objects of a tree. */
function countMembers(value: unknown): number {
  if (typeof value !== "object" || value === null) return 0;
  let count = Array.isArray(value) ? 0 : Object.keys(value).length;
  for (const member of Object.values(value)) count += countMembers(member);
  return count;
}

/** Colons outside texts: each member of valid JSON has one, also the member that its namesake has replaced. */
function countColons(text: string): number {
  let count = 0;
  let isInText = false;
  for (let i = 0; i < text.length; i += 1) {
    const sign = text[i];
    if (sign === '"') isInText = !isInText;
    else if (isInText && sign === "\\") i += 1;
    else if (!isInText && sign === ":") count += 1;
  }
  return count;
}
