/**
 * The texts that people read: tables, gates, diffs, progress, errors. Pure; colours are marked, not drawn.
 *
 * Never: starts a process or opens a ledger.
 */
import { describe, expect, it } from "vitest";
import { wrapError } from "../../src/contract/error.ts";
import { kernelError } from "../../src/contract/error-codes.ts";
import type { LedgerEvent } from "../../src/contract/event.ts";
import { moduleRef } from "../../src/contract/module-ref.ts";
import type { KernelProgress } from "../../src/contract/progress.ts";
import { renderEvent } from "../../src/faces/cli/events.ts";
import { renderGate, renderHidden, styleOfDiff } from "../../src/faces/cli/render-gate.ts";
import { renderTable } from "../../src/faces/cli/render-table.ts";
import { cutLine, describeTime, hangLines, quoteWord, toJsonText } from "../../src/faces/cli/render-text.ts";
import { renderProgress, renderProgressLine } from "../../src/faces/cli/render-workflow.ts";
import { renderError } from "../../src/faces/cli/report-error.ts";
import type { Style } from "../../src/faces/cli/terminal.ts";
import { sampleGate as gate } from "./sample-gate.ts";

const now = Date.parse("2025-01-01T12:00:00Z");
const plain = (_style: Style, text: string): string => text;
const _marked = (style: Style, text: string): string => `<${String(style)}>${text}`;
const look = { paint: plain, columns: 80, now: () => now };

describe("table", () => {
  const columns = [
    { title: "ID", value: (row: readonly [string, string]) => row[0] },
    { title: "WHAT", value: (row: readonly [string, string]) => row[1], shrinks: true },
    { title: "END", value: () => "x" },
  ];

  it("lines its columns up", () => {
    const lines = renderTable(
      [
        ["a", "one"],
        ["long-id", "b"],
      ],
      columns,
      look,
    ).split("\n");
    expect(lines).toEqual(["ID       WHAT  END", "a        one   x", "long-id  b     x"]);
  });

  it("fits the terminal by cutting what may be cut, and never an id", () => {
    const id = "wf_01ARZ3NDEKTSV4RRFFQ69G5FAV";
    const table = renderTable([[id, "word ".repeat(40)]], columns, { ...look, columns: 60 });
    for (const line of table.split("\n")) expect(line.length).toBeLessThanOrEqual(60);
    expect(table).toContain(id);
    expect(table).toContain("…");
  });
});

describe("text", () => {
  it("[GAT-05] cuts to one line, on which a line feed is named", () => {
    expect(cutLine("one\n  two three", 12)).toBe("one‹LF›  tw…");
    expect(cutLine("short", 9)).toBe("short");
    expect(cutLine(`${"\u{1f600}".repeat(9)}x`, 9)).toBe(`${"\u{1f600}".repeat(8)}…`);
    expect(cutLine(`\u202e${"x".repeat(1_000_000)}`, 40)).toBe(`‹U+202E RIGHT-TO-LEFT OVERRIDE›${"x".repeat(8)}…`);
  });

  it("[GAT-05] further lines stand under the first, where the program itself begins none", () => {
    expect(hangLines("all is well\nrisk      low", 10)).toBe("all is well\n          risk      low");
  });

  it("[GAT-05] JSON for programs has escapes for what cannot be seen, and says the same", () => {
    const value = { text: "a\u202eb\u{e0041}\u007f" };
    expect(toJsonText(value)).toBe(String.raw`{"text":"a\u202eb\udb40\udc41\u007f"}`);
    expect(JSON.parse(toJsonText(value, 2))).toEqual(value);
  });

  it.each([
    ["2025-01-01T11:59:59.900Z", "now"],
    ["2025-01-01T11:59:18Z", "42 s ago"],
    ["2025-01-01T10:00:00Z", "2 h ago"],
    ["2024-12-29T12:00:00Z", "3 d ago"],
    ["2025-01-01T12:05:00Z", "in 5 min"],
    ["2025-01-03T11:59:00Z", "in 47 h"],
    ["2025-01-01T13:59:00Z", "in 119 min"],
  ])("tells %s as %s", (iso, told) => expect(describeTime(iso, now)).toBe(told));

  it("quotes for a shell only where it must", () => {
    expect(quoteWord("a/b-c.db")).toBe("a/b-c.db");
    expect(quoteWord("my file's.db")).toBe("'my file'\\''s.db'");
    expect(quoteWord("it's\u202e.db")).toBe(String.raw`$'it\'s\U0000202e.db'`);
  });
});

describe("gate", () => {
  it("shows who asked, what runs, risk, cost, digest, preview, changes and what each answer does", () => {
    const text = renderGate(gate, look);
    for (const part of [
      "Publish the notes",
      "gate-publish",
      "opened 3 min ago",
      'plan "gate": publishing writes a file',
      "File.Write, effect final_write",
      "medium, estimated cost 2",
      "abc123",
      "- three",
      "+# Notes",
      "approve   It is written.",
      "edit      A new version.",
      "reject    Nothing is written.",
    ]) {
      expect(text).toContain(part);
    }
  });

  it("says what it leaves out", () => {
    expect(renderGate(gate, look, { maxLines: 2, rest: "see all" })).toContain("… 2 more lines: see all");
    expect(renderGate(gate, look)).not.toContain("more lines");
  });

  it("says that nothing changes where the diff is empty", () => {
    expect(renderGate({ ...gate, editable: null }, look)).toContain("edit      Nothing of it may be edited.");
    expect(renderGate({ ...gate, diff: "" }, look)).toContain("Changes\n  none\nAnswers");
  });

  it("[GAT-05] lists the fields that the preview does not say", () => {
    const payload = { folder: "/etc", path: "N.md", content: gate.preview };
    const text = renderGate({ ...gate, payload }, look);
    expect(text).toContain('\nFields of the payload\n  folder    "/etc"\n  path      "N.md"\nChanges\n');
    expect(renderGate({ ...gate, payload: gate.preview }, look)).not.toContain("Fields of the payload");
    const long = renderHidden({ kind: "approval", payload: { text: "x".repeat(5000) }, preview: "a letter" });
    expect(long.length).toBeLessThan(2100);
    expect(long).toContain("… 3002 more characters");
  });

  it("[GAT-05] no text of others begins a line of the layout, and every character of it can be seen", () => {
    const reason = "it is late\nrisk      low, estimated cost 0";
    const text = renderGate(
      {
        ...gate,
        title: "Publish\nAnswers",
        reasons: [{ source: "plan", rule: "gate", reason }],
        preview: "pay\u202e 001\u200b\r\nDigest",
        diff: "@@ -1 +1 @@\n \n-a \n+a\u00a0",
      },
      look,
    );
    expect(text.split("\n").filter((line) => /^( {2})?(risk|Answers|Digest)/.test(line))).toEqual([
      "  risk      medium, estimated cost 2",
      "  Digest",
      "Answers",
    ]);
    for (const part of [
      "Publish‹LF›Answers",
      "pay‹U+202E RIGHT-TO-LEFT OVERRIDE› 001‹U+200B ZERO WIDTH SPACE›‹CR›",
      "  @@ -1 +1 @@\n   \n  -a‹SPACE›\n  +a‹U+00A0 NO-BREAK SPACE›",
    ])
      expect(text).toContain(part);
  });

  it("colours a diff by line", () => {
    const lines = ["--- a", "+++ b", "@@ 1 @@", " same", "-old", "+new"];
    expect(lines.map(styleOfDiff)).toEqual(["bold", "bold", "cyan", null, "red", "green"]);
  });
});

describe("progress", () => {
  const progress: KernelProgress = {
    tenant_id: 1,
    workflow_id: gate.workflow_id,
    correlation_id: "cor_01ARZ3NDEKTSV4RRFFQ69G5FAV",
    percent: 50,
    stage: "running",
    current_step: { step_id: "draft", name: "Draft the notes" },
  };

  it("is a bar with the current step, within the terminal's width", () => {
    const line = renderProgress(progress, { paint: plain, columns: 60 });
    expect(line).toBe(`${"█".repeat(12)}${"░".repeat(12)}  50 %  Draft the notes`);
    expect(renderProgress(progress, { paint: plain, columns: 40 }).length).toBeLessThanOrEqual(40);
  });

  it("is a plain line without a terminal", () => {
    expect(renderProgressLine({ ...progress, current_step: null, stage: "waiting_for_user" })).toBe(
      " 50 %  waiting for user",
    );
  });
});

describe("error", () => {
  const root = kernelError("T0_LEDGER_LOCKED", "the ledger is locked", moduleRef(0, "ledger", "append"));

  it("tells what happened, the code, the cause and the next step", () => {
    const wrapped = wrapError("T4_CUSTOM_FAILED", root, moduleRef(4, "test", "run"), "it did not work");
    expect(renderError(wrapped).split("\n")).toEqual([
      "error: it did not work",
      "  code     T4_CUSTOM_FAILED",
      "  because  T0_LEDGER_LOCKED: the ledger is locked",
      "  next     Wait until the other process has finished, or stop it.",
    ]);
  });
});

describe("event", () => {
  it("is one line with its sequence and its time after the beginning", () => {
    const event = {
      sequence: 7,
      timestamp: "2025-01-01T12:00:01.250Z",
      event_type: "STEP_SUCCEEDED",
      step_id: "draft",
      payload: { cost: 1, output: { a: 1 }, output_text: "hello" },
    } as unknown as LedgerEvent;
    const line = renderEvent(event, "2025-01-01T12:00:00.000Z", look);
    expect(line).toMatch(/^ {3}7 +\+1\.250 s {2}STEP_SUCCEEDED +draft +cost=1 output=\{…\}/);
    expect(line).not.toContain("\n");
  });
});
