/**
 * What anybody may write in a repository is read in a time that grows with its length: no line of it stops the process.
 */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readNotes } from "../../src/packages/capabilities/handover/notes.ts";
import { kindOfWords } from "../../src/packages/capabilities/release-notes/kinds.ts";
import { readContributors } from "../../src/packages/operators/git-log/contributors.ts";

const many = (text: string): string => text.repeat(200_000);

describe("a line of hundreds of thousands of characters", () => {
  it("is read as a heading", () => {
    expect(readNotes(`# a${many(" ")}b`).title).toHaveLength(200_002);
    expect(readNotes(`# a${many(" ")}#`).title).toBe("a");
    expect(readNotes(`# a${many("#")} b`).title).toHaveLength(200_003);
  });

  it("is read as the subject of a commit", () => {
    for (const subject of [`1${many(".1")}a`, `release v1${many(".1")}a`, `1.1-${many("a.")}!`, many("x ")])
      expect(["other", "release"]).toContain(kindOfWords(subject));
    expect(kindOfWords("release v1.2.3")).toBe("release");
  });

  it("is read as the name of an author", () => {
    const [person] = readContributors(`  3\ta${many(" ")}b <b@example.org>`, null);
    expect(person).toMatchObject({ commits: 3 });
    expect(readContributors(`  3\ta${many(" ")}b`, null)).toEqual([]);
    expect(readContributors(`  3\t${many("<")}`, null)).toEqual([]);
  });
});

it("a heading is what stands between its marks", () => {
  const piece = fc.constantFrom("#", " ", "a", "b ", "##", "\t");
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => {
      const line = `# ${pieces.join("")}`;
      expect(readNotes(line).title).toBe(/^#{1,6}\s+(\S.*?)\s*#*$/.exec(line)?.[1] ?? null);
    }),
  );
});
