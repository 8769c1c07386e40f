// Text of others made safe for a Markdown document: what the packages put into their drafts goes through here.
// Owns: which characters mean something in Markdown or HTML and how each is made plain. Pure.
// Never: changes what a person reads, apart from line breaks, control characters and marks that turn the reading direction.
// INV-1  The result is one line without `<`, without an unescaped `[`, `]`, backtick, `*` or `_`, and opens no block.

const invisible = /[\p{Cc}\u200B\u2028\u2029\u202A-\u202E\u2066-\u2069\uFEFF]/gu;
const entities: Readonly<Record<string, string>> = { "<": "&lt;", ">": "&gt;", "&": "&amp;" };

/** One line of at most `maxChars` characters: white space runs become one blank. */
export function toPlainLine(text: string, maxChars = 300): string {
  const line = text.toWellFormed().replace(invisible, " ").replace(/\s+/g, " ").trim();
  const characters = Array.from(line);
  return characters.length <= maxChars ? line : `${characters.slice(0, maxChars - 1).join("")}…`;
}

/** The text as one line of Markdown that shows exactly its characters. */
export function escapeMarkdown(text: string, maxChars = 300): string {
  const escaped = toPlainLine(text, maxChars)
    .replace(/[\\`*_[\]|~]/g, "\\$&")
    .replace(/[<>&]/g, (character) => entities[character] ?? character);
  // What would open a heading, a list or a rule at the beginning of a line.
  return escaped.replace(/^[#+=-]/, "\\$&").replace(/^(\d+)([.)])(?=\s|$)/, "$1\\$2");
}
