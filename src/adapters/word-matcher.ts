/** The default matcher for semantic memory: shared words, most first; deterministic. */
import type { StoredMemory } from "../ports/ledger-store.ts";

const wordsOf = (text: string): ReadonlySet<string> => new Set(text.toLowerCase().match(/[\p{L}\p{N}]{3,}/gu) ?? []);

export function matchWords(
  text: string,
  records: readonly StoredMemory[],
): readonly { readonly record: StoredMemory; readonly score: number }[] {
  const wanted = wordsOf(text);
  if (wanted.size === 0) return [];
  return records
    .map((record) => {
      const held = wordsOf(`${record.key} ${JSON.stringify(record.value)}`);
      const shared = [...wanted].filter((w) => held.has(w)).length;
      return { record, score: shared / wanted.size };
    })
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score || (a.record.key < b.record.key ? -1 : 1))
    .slice(0, 10);
}
