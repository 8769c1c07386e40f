/**
 * The handover package: reading notes, and the plan that turns to its fallback when the primary source fails. Laws: a
 * completed step stays valid in later rounds; each document has its own outcome, file and gate.
 *
 * Never: runs a kernel; run-plan.ts stands in for it.
 */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readNotes, writeChecklist, writeSummary } from "../../src/packages/capabilities/handover/notes.ts";
import { checklistOperator, summarizeOperator } from "../../src/packages/capabilities/handover/operators.ts";
import { HandoverInput, projectHandover } from "../../src/packages/capabilities/index.ts";
import { operatorContract } from "../../src/testing/operator-contract.ts";
import { makeTempFolder } from "../operators/temp-folder.ts";
import { planOf, runPlan } from "./run-plan.ts";

const text = [
  "# Engine",
  "",
  "It turns <numbers>",
  "into numbers.",
  "",
  "Another paragraph.",
  "## Running #",
  "- [x] install",
  "- [ ] start it",
  "```",
  "# not a heading, TODO: not a task",
  "```",
  "<!-- TODO: write more -->",
  "### Empty",
].join("\n");

describe("the notes", () => {
  it("are sections with the first paragraph as lead, and tasks; code is neither", () => {
    expect(readNotes(text)).toEqual({
      title: "Engine",
      sections: [
        { title: "Engine", lead: "It turns <numbers> into numbers." },
        { title: "Running", lead: "" },
        { title: "Empty", lead: "" },
      ],
      tasks: [
        { text: "install", done: true },
        { text: "start it", done: false },
        { text: "write more -->", done: false },
      ],
    });
  });

  it("become a summary and a checklist with open tasks first", () => {
    const question = { notes: readNotes(text), title: "T", source: "README.md" };
    expect(writeSummary(question)).toBe(
      "# T\n\nFrom README.md: 3 sections, 2 open tasks of 3.\n" +
        "\n## Engine\n\nIt turns &lt;numbers&gt; into numbers.\n" +
        "\n## Running\n\n(no text)\n\n## Empty\n\n(no text)\n",
    );
    expect(writeChecklist(question)).toBe(
      "# T\n\nFrom README.md.\n\n- [ ] start it\n- [ ] write more --&gt;\n- [x] install\n",
    );
  });

  it("any text gives both documents, without raw HTML", () => {
    const lines = fc.constantFrom("# a", "- [ ] <b>", "TODO: x", "~~~", "<script>", "", "[x](y)", "plain", "\u2028");
    fc.assert(
      fc.property(
        fc.oneof(
          fc.array(lines).map((list) => list.join("\n")),
          fc.string({ unit: "grapheme" }),
        ),
        (source) => {
          const question = { notes: readNotes(source), title: "T", source: "s" };
          for (const document of [writeSummary(question), writeChecklist(question)]) {
            expect(document).not.toMatch(/<[A-Za-z/!?]/);
            expect(document.length).toBeGreaterThan(10);
          }
          expect(writeChecklist(question)).toMatch(/^- \[[ x]\] /m);
        },
      ),
    );
  });

  const input = { title: "T", source: { path: "README.md", content: text } };
  operatorContract({ it, expect, operator: summarizeOperator, input });
  operatorContract({ it, expect, operator: checklistOperator, input });
});

describe("Project.Handover.Prepare", () => {
  it("reads the primary source where there is one", async () => {
    using folder = makeTempFolder();
    writeFileSync(join(folder.path, "HANDOVER.md"), text);
    const run = await runPlan(projectHandover, { input: { folder: folder.path } });
    expect(run.plans).toHaveLength(1);
    expect(run.outputs["summary"]).toMatchObject({ sections: 3 });
    expect(readdirSync(folder.path)).toEqual(["HANDOVER-CHECKLIST.md", "HANDOVER-SUMMARY.md", "HANDOVER.md"]);
  });

  it("replans with the fallback when the primary source is absent, and writes both documents", async () => {
    using folder = makeTempFolder();
    writeFileSync(join(folder.path, "README.md"), text);
    const run = await runPlan(projectHandover, { input: { folder: folder.path } });
    expect(run.plans.map((plan) => plan.steps[0]?.step_id)).toEqual(["primary", "fallback"]);
    expect(run.plans[1]?.reasoning).toContain("HANDOVER.md does not exist");
    expect(run.failed).toEqual([]);
    expect(run.outputs["checklist"]).toMatchObject({ open: 2, done: 1 });
    expect(readFileSync(join(folder.path, "HANDOVER-SUMMARY.md"), "utf8")).toContain("# Handover: summary");
  });

  it("two gates: each document is written by a step of its own that applies its own outcome", async () => {
    const { steps } = await planOf(projectHandover, { input: { folder: "." } });
    const gated = steps.filter((step) => step.gate !== undefined);
    expect(gated.map((step) => [step.applies, step.depends_on])).toEqual([
      ["summary", ["summary"]],
      ["checklist", ["checklist"]],
    ]);
    expect(new Set(gated.map((step) => step.params["path"])).size).toBe(2);
    expect(HandoverInput.safeParse({ folder: ".", summary_out: "a", checklist_out: "a" }).success).toBe(false);
  });

  it("a later round stays with the fallback, whatever failed since", async () => {
    const failure = (step_id: string) => ({ step_id, code: "C", message: "m" });
    const situations = [
      { completed: [{ step_id: "fallback", output: {} }], failed: [failure("publish_summary")] },
      { completed: [], failed: [failure("fallback")] },
      { completed: [], failed: [failure("primary")] },
    ];
    for (const parts of situations) {
      const situation = { round: 2, objective: null, ...parts };
      const { steps } = await planOf(projectHandover, { input: { folder: "." }, situation });
      expect(steps.map((step) => step.step_id)).not.toContain("primary");
    }
    const completed = [{ step_id: "primary", output: {} }];
    const situation = { round: 1, objective: null, completed, failed: [failure("publish_summary")] };
    const { steps } = await planOf(projectHandover, { input: { folder: "." }, situation });
    expect(steps[0]?.step_id).toBe("primary");
  });

  it("with neither source it fails and writes nothing", async () => {
    using folder = makeTempFolder();
    const run = await runPlan(projectHandover, { input: { folder: folder.path } });
    expect(run.failed).toMatchObject([{ step_id: "fallback", code: "FILE_NOT_FOUND" }]);
    expect(readdirSync(folder.path)).toEqual([]);
  });
});
