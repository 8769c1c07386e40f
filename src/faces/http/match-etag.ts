/**
 * Checks whether a reader already has the content: `If-None-Match` of RFC 9110, section 13.1.2.
 *
 * 1.  A list is read entry by entry, tags compare weakly, and `*` matches any content. A value that is no list of tags
 *     matches nothing.
 */

/** The answer 304, as the document describes it. */
export const unchanged = { description: "It is what `If-None-Match` names." };

const tags = /(?:W\/)?("[\x21\x23-\x7e\x80-\xff]*")/g;

/** Returns whether a tag matches. `etag`: a strong tag, in its quotes. */
export function isMatched(ifNoneMatch: string | undefined, etag: string): boolean {
  if (ifNoneMatch === undefined) return false;
  if (ifNoneMatch.trim() === "*") return true;
  const isList = /^[\t ,]*$/.test(ifNoneMatch.replace(tags, ""));
  return isList && [...ifNoneMatch.matchAll(tags)].some(([, named]) => named === etag);
}
