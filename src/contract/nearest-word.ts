// "Did you mean": the known word that is nearest to one that nobody knows.
// Owns: the distance (letters added, left out, changed) and how far a word may be. Never: decides anything.

/** The nearest of the known words, or null where none is near: at most two letters, and a third of the word, are wrong. */
export function nearestWord(word: string, known: readonly string[]): string | null {
  const most = Math.min(2, Math.floor(word.length / 3));
  const near = known
    .filter((one) => Math.abs(one.length - word.length) <= most)
    .map((one) => ({ one, distance: distanceOf(word, one) }))
    .sort((a, b) => a.distance - b.distance)[0];
  return near !== undefined && near.distance <= most ? near.one : null;
}

/** Levenshtein's distance, row by row. */
function distanceOf(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (const [i, letter] of [...a].entries()) {
    const next = [i + 1];
    for (let j = 0; j < b.length; j += 1) {
      const change = (row[j] ?? 0) + (letter === b[j] ? 0 : 1);
      next.push(Math.min(change, (row[j + 1] ?? 0) + 1, (next[j] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}
