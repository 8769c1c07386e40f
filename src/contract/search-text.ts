/**
 * The text by which a list is searched: the shown names of an item in one string, in which case makes no difference.
 *
 * 1.  The same rule folds what is kept and what is looked for, in every store: a database's own rule for lower case
 *     depends on its language.
 * 2.  It has no character that a store would refuse.
 */

/** Returns a text without differences of case. */
export const foldCase = (text: string): string => text.toLowerCase().replaceAll("\0", " ").toWellFormed();

/** Returns the text in which a list looks for a part of these names. */
export const searchTextOf = (names: readonly string[]): string => foldCase(names.join("\n"));
