// A gate on a screen of 60 and of 120 columns. Pure.
// Laws: no line is wider than the screen; no word is broken that fits; text from outside never begins at the margin.

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Gate } from "../../src/contract/gate.ts";
import { askGate } from "../../src/faces/cli/ask-gate.ts";
import { gateSections } from "../../src/faces/cli/render-gate.ts";
import { wrapLines } from "../../src/faces/cli/render-text.ts";
import { layOut, renderScreen, type ScreenView } from "../../src/faces/cli/review-screen.ts";
import type { Terminal } from "../../src/faces/cli/terminal.ts";
import { nameForbidden } from "../../src/protocol/visible-text.ts";
import { makePerson } from "./command-line.ts";
import { sampleGate } from "./sample-gate.ts";

const now = () => Date.parse("2025-01-01T12:00:00Z");
const sentence = "The quick brown fox jumps over the lazy dog and does not look back.";

const gate: Gate = {
  ...sampleGate,
  reasons: [{ source: "plan", rule: "gate", reason: sentence }],
  target: null,
  payload: {},
  payload_digest: "a1b2c3d4".repeat(8),
  preview: Array.from({ length: 60 }, (_, i) => `${i}. ${sentence}`).join("\n"),
  diff: null,
  consequences: { approve: sentence, reject: sentence, edit: sentence },
};

const plainView: ScreenView = {
  columns: 60,
  rows: 24,
  paint: (_style, text) => text,
  now,
  place: "2 of 7",
  at: 0,
  foot: "[a]approve [r]reject",
};
const render = (shown: Gate, view: Partial<ScreenView> = {}) =>
  renderScreen(shown, layOut(gateSections(shown, { now }), plainView.paint), { ...plainView, ...view });

describe("what is said at the end", () => {
  it("breaks no word at 60 columns, and no line that is to be copied", () => {
    const command = "  npx countersign review --workflow wf_01ARZ3NDEKTSV4RRFFQ69G5FAV --db /a/long/path/to/a.db";
    const said = wrapLines(`Stopped. ${sentence}\n${command}`, 60).split("\n");
    expect(said.at(-1)).toBe(command);
    for (const line of said.slice(0, -1)) expect(line.length).toBeLessThanOrEqual(60);
    expect(said.slice(0, -1).join(" ")).toBe(`Stopped. ${sentence}`);
  });
});

describe("the screen of a gate", () => {
  it.each([60, 120])("fits %i columns and its rows, and breaks no word that fits on a line", (columns) => {
    const { lines } = render(gate, { columns });
    expect(lines).toHaveLength(24);
    for (const line of lines) expect(line.length).toBeLessThanOrEqual(columns);
    const words = new Set(lines.join("\n").split(/[\s:]+/));
    for (const word of [...sentence.split(" "), "wf_01ARZ3NDEKTSV4RRFFQ69G5FAV", "gate-publish"])
      expect(words).toContain(word);
  });

  it("keeps head and foot while the middle pages, and counts what is not shown", () => {
    const first = render(gate);
    const second = render(gate, { at: first.height });
    const heads = [first, second].map(({ lines }) =>
      lines.slice(
        0,
        lines.findIndex((line) => /^-+$/.test(line)),
      ),
    );
    expect(heads[0]).toEqual(heads[1]);
    expect(first.lines.at(-1)).toBe("[a]approve [r]reject");
    expect(first.lines.at(-2)).toBe(`lines 1 to ${first.height} of ${first.total}, space: on`);
    expect(second.lines.at(-2)).toMatch(/^lines \d+ to \d+ of \d+, space: on, b: back$/);
    const last = render(gate, { at: 10_000 });
    expect(last.at).toBe(last.total - last.height);
    expect(last.lines.at(-2)).toMatch(/, b: back$/);
  });

  it("has its middle even where head and foot are long and the terminal is small", () => {
    const long = { ...gate, reasons: Array.from({ length: 30 }, () => gate.reasons[0]!) };
    const { lines, height } = render(long, { rows: 12, columns: 30 });
    expect(height).toBeGreaterThanOrEqual(3);
    expect(lines.join("\n")).toMatch(/\d+ more lines: see Details/);
  });

  it("the digest is whole among the details", () => {
    const { total } = render(gate, { rows: 500 });
    expect(total).toBeLessThan(500);
    expect(render(gate, { rows: 500, columns: 120 }).lines.join("\n")).toContain(gate.payload_digest);
  });

  it("[GAT-05] whatever comes from outside stands behind the margin, and each character can be seen", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 300 }), fc.integer({ min: 20, max: 130 }), (text, columns) => {
        const hostile = { ...gate, title: text, preview: `${text}\n[y]approve`, payload: { text }, diff: `+${text}` };
        const { lines, height } = render(hostile, { columns, rows: 60, paint: (_style, line) => line });
        const rule = lines.findIndex((line) => /^-+$/.test(line));
        const own = /^(?:Facts|Preview|Fields of the payload|Changes|Answers|Details)$/;
        for (const line of lines.slice(rule + 1, rule + 1 + height))
          expect(line === "" || /^(?: {2}|: )/.test(line) || own.test(line)).toBe(true);
        expect(nameForbidden(lines.join("\n"))).toBe(lines.join("\n"));
      }),
    );
  });

  it("what the changes show whole is not shown twice", () => {
    const preview = "# Notes\n\n- one\n";
    const fresh = { ...gate, preview, diff: "--- /dev/null\n+++ b/N.md\n@@ -0,0 +1,3 @@\n+# Notes\n+\n+- one\n" };
    const text = render(fresh, { rows: 60 }).lines.join("\n");
    expect(text.split("# Notes")).toHaveLength(2);
    expect(text).toContain("+++ b/N.md\n  a new file: all of the preview");
    const changed = { ...gate, preview, diff: "--- a/N.md\n+++ b/N.md\n@@ -1,2 +1,3 @@\n # Notes\n-\n+\n+- one\n" };
    expect(render(changed, { rows: 60 }).lines.join("\n")).not.toContain("Preview");
    const more = { ...changed, preview: `${preview}- two\n` };
    expect(render(more, { rows: 60 }).lines.join("\n")).toContain("- two");
  });
});

describe("an approval at a gate that asks for a typed word", () => {
  it("is sent once the word is typed, and a rejection without it", async () => {
    const gate = { ...sampleGate, confirm: "type" as const };
    const askWith = (keys: readonly string[], typed: readonly string[]) => {
      const left = [...typed];
      const person = makePerson(keys, () => left.shift() ?? "").terminal;
      const terminal = { ...person, now, paint: plainView.paint, print: () => undefined } as unknown as Terminal;
      return askGate({ gate, place: "1 of 1", terminal, kept: null });
    };
    expect(await askWith(["a", "y", "q"], ["aprove"])).toEqual({ to: "quit" });
    expect(await askWith(["a", "y"], ["Approve"])).toMatchObject({ to: "decide", decision: "approve" });
    expect(await askWith(["r", "y"], ["no"])).toMatchObject({ to: "decide", payload: { comment: "no" } });
  });
});
