/** Measures text in a font of one width, and breaks it into lines. */

/**
 * Returns how wide the widest of these lines is in a font of one width, in which signs of East Asia take two places.
 */
export const textWidth = (lines: readonly string[], perChar: number): number =>
  Math.max(0, ...lines.map((line) => countPlaces(line) * perChar));

const countPlaces = (line: string): number =>
  [...line].reduce((sum, sign) => sum + ((sign.codePointAt(0) ?? 0) < 0x1100 ? 1 : 2), 0);

/** Returns lines of at most `most` characters, broken between words if possible; nothing is left out. */
export function wrapText(words: string, most: number): readonly string[] {
  const lines: string[] = [];
  for (const word of words.split(" ").flatMap((one) => cutWord(one, most))) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + 1 + word.length <= most) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines;
}

function cutWord(word: string, most: number): readonly string[] {
  const letters = [...word];
  const pieces: string[] = [];
  for (let at = 0; at < letters.length; at += most) pieces.push(letters.slice(at, at + most).join(""));
  return pieces;
}
