/**
 * Commits as fast-check makes them: conventional ones, free ones, and subjects that try to break a Markdown document.
 *
 * Owns: distinct hashes; their order is the order of the list. Never: judges what a subject should become; the tests
 * state laws instead.
 */
import fc from "fast-check";
import type { Commit } from "../../src/packages/operators/git-log/commit.ts";

const nasty = fc.constantFrom(
  "<script>alert(1)</script>",
  "[x](y)",
  "![x](https://evil.example/x.png)",
  "[a][b]",
  "[a]: https://evil.example",
  "🎉 emoji 👩‍👩‍👧",
  "two\nlines\r\nand\u2028more",
  "- a (`0000000`)",
  "(`abcdef0`)",
  "([`abcdef0`](https://evil.example/abcdef0))",
  "\\](x)",
  "\\\\](x)",
  "# heading",
  "1. list",
  "a | b",
  "&lt;b&gt; <b/>",
  "<!-- -->",
  "\u202Ereversed",
  "\uD800lone",
  "{{collect.output}}",
  "**bold** _it_ ~~no~~ `code`",
  "",
);
const type = fc.constantFrom(
  "feat",
  "fix",
  "perf",
  "docs",
  "chore",
  "revert",
  "refactor",
  "unknown",
  "constructor",
  "__proto__",
);
const words = fc.oneof(
  nasty,
  fc.string({ unit: "grapheme", maxLength: 60 }),
  fc.constantFrom("Add x", "Fix y", "Bump z"),
);
const conventional = fc
  .tuple(type, fc.option(words, { nil: null }), fc.boolean(), words)
  .map(
    ([name, scope, breaking, rest]) => `${name}${scope === null ? "" : `(${scope})`}${breaking ? "!" : ""}: ${rest}`,
  );

const body = fc.oneof(
  fc.constant(""),
  words,
  words.map((text) => `text\n\nBREAKING CHANGE: ${text}`),
  fc.constant(`This reverts commit ${"0".repeat(39)}1.`),
);

const message = fc.record({
  subject: fc.oneof(
    words,
    conventional,
    words.map((text) => `Revert "${text}"`),
    fc.constant("Merge branch 'x'"),
  ),
  body,
  folder: fc.constantFrom("", "src/a", "src/b", "Other changes", "test"),
  parents: fc.constantFrom(0, 1, 2).map((count) => ["a".repeat(40), "b".repeat(40)].slice(0, count)),
});

/** Up to 30 commits whose hashes, and so their short hashes, differ. */
export const commits: fc.Arbitrary<readonly Commit[]> = fc.array(message, { maxLength: 30 }).map((messages) =>
  messages.map((parts, index) => {
    const hash = (index + 1).toString(16).padStart(40, "0");
    return { ...parts, hash, short: `${(index + 1).toString(16).padStart(7, "0")}`, author: "Ada", date: "2026-01-02" };
  }),
);

export const remoteUrl = fc.constantFrom(
  null,
  "https://github.com/a/b",
  "https://gitlab.com/a/b",
  "https://bitbucket.org/a/b",
);
