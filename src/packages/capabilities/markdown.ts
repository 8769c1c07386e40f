/**
 * Text of others made safe for a Markdown document: the packages pass all text of their drafts through it.
 *
 * Owns: the special characters of Markdown and HTML, and how each is escaped. Pure. Never: changes what a person
 * reads, apart from line breaks, control characters and marks that turn the reading direction.
 * 1.  The result is one line without `<`, without an unescaped `[`, `]`, backtick or `*` but those that are kept on
 *     purpose, and opens no block.
 */
const invisible = /[\p{Cc}\u200B\u2028\u2029\u202A-\u202E\u2066-\u2069\uFEFF]/gu;
const entities: Readonly<Record<string, string>> = { "<": "&lt;", ">": "&gt;", "&": "&amp;" };

/** Returns one line of at most `maxChars` characters: white space runs become one blank. */
export function toPlainLine(text: string, maxChars = 300): string {
  const line = text.toWellFormed().replace(invisible, " ").replace(/\s+/g, " ").trim();
  const characters = Array.from(line);
  return characters.length <= maxChars ? line : `${characters.slice(0, maxChars - 1).join("")}…`;
}

/** Returns the text as one line of Markdown that shows exactly its characters. */
export const escapeMarkdown = (text: string, maxChars = 300): string =>
  escapeOpening(escapePiece(toPlainLine(text, maxChars)));

export interface Keeping {
  readonly maxChars?: number;
  /** Returns the text for `#12` or `!12`; `last` if it ends the text in parentheses. */
  readonly linkOf?: (reference: string, last: boolean) => string;
}

/** Code spans, the names of scoped packages (which would call upon somebody of that name), and references. */
const keptPieces =
  /(?<!`)(`+)(?!`)(?:.*?[^`])\1(?!`)|(?<![\w@/.-])@[a-z0-9][\w.-]*\/[\w.-]*\w|(?<![\p{L}\p{N}_&/#])[#!]\d{1,9}(?!\p{L}|\d)/gu;

/**
 * Returns the text as one line of Markdown in which code spans stay code, mentions stay mentions and references become
 * links; all else shows exactly its characters.
 */
export function toMarkdownLine(
  text: string,
  { maxChars = 300, linkOf = (reference) => reference }: Keeping = {},
): string {
  const line = toPlainLine(text, maxChars);
  const pieces: string[] = [];
  let at = 0;
  for (const { 0: piece, index } of line.matchAll(keptPieces)) {
    const last = line.slice(index - 1) === `(${piece})`;
    pieces.push(
      escapePiece(line.slice(at, index)),
      keepPiece(piece, () => linkOf(piece, last)),
    );
    at = index + piece.length;
  }
  return escapeOpening([...pieces, escapePiece(line.slice(at))].join(""));
}

function keepPiece(piece: string, link: () => string): string {
  if (piece.startsWith("`")) return piece;
  return piece.startsWith("@") ? `\`${piece}\`` : link();
}

/** Blanks the content of code spans in a line of Markdown, for scans of special characters. */
export const blankCode = (line: string): string => line.replace(/(?<![`\\])(`+)(?!`)(?:.*?[^`])\1(?!`)/g, "``");

/** Escapes a piece; an underscore inside a word opens nothing. */
const escapePiece = (piece: string): string =>
  piece
    .replace(/[\\`*[\]|~]|(?<![\p{L}\p{N}])_|_(?![\p{L}\p{N}])/gu, "\\$&")
    .replace(/[<>&]/g, (character) => entities[character] ?? character);

/** Escapes what would open a heading, a list or a rule at the beginning of a line. */
const escapeOpening = (line: string): string =>
  line.replace(/^[#+=-]/, "\\$&").replace(/^(\d+)([.)])(?=\s|$)/, "$1\\$2");
