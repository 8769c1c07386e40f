/**
 * The mark by which a line of the notes names its commit: the short hash, linked where the remote is known. Pure.
 *
 * Owns: both directions, the writing (draft.ts) and the reading (check.ts), so that they cannot drift apart.
 */
import { commitUrl } from "./host-links.ts";

/** Returns `[\`short\`](address)`, or the short hash alone. */
export function markCommit(
  commit: { readonly hash: string; readonly short: string },
  remoteUrl: string | null,
): string {
  const code = `\`${commit.short}\``;
  return remoteUrl === null ? code : `[${code}](${commitUrl(remoteUrl, commit.hash)})`;
}

const linkedMark = /\(\[`([0-9a-f]+)`\]\(([^()\s]*)\)\)$/;
const plainMark = /\(`([0-9a-f]+)`\)$/;

/** Reads the mark at the end of an entry; `url` is null for one without a link. */
export function readMark(line: string): { readonly short: string; readonly url: string | null } | null {
  const linked = linkedMark.exec(line);
  if (linked?.[1] !== undefined) return { short: linked[1], url: linked[2] ?? "" };
  const plain = plainMark.exec(line)?.[1];
  return plain === undefined ? null : { short: plain, url: null };
}
