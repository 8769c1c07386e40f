/**
 * The recipes of CONTRIBUTING, performed on a copy of the sources: the edits compile, do what they say, and stay within
 * the number of files that the recipe allows.
 */
import { execFileSync } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { root } from "./source-files.ts";

interface Edit {
  readonly file: string;
  /** A text that stands once in the file. */
  readonly before: string;
  /** What is put in front of it. */
  readonly add: string;
}

interface Recipe {
  readonly edits: readonly Edit[];
  /** A module of the copy that ends without an error if the change works. */
  readonly check: string;
}

/**
 * Performs a recipe and returns the files that it changed. @throws Error if the copy does not compile or the check
 * fails.
 */
function perform({ edits, check }: Recipe): readonly string[] {
  const copy = mkdtempSync(join(tmpdir(), "countersign-recipe-"));
  try {
    for (const name of ["src", "machines", "package.json", "tsconfig.json"])
      cpSync(join(root, name), join(copy, name), { recursive: true });
    symlinkSync(join(root, "node_modules"), join(copy, "node_modules"));
    for (const { file, before, add } of edits) insert(join(copy, file), before, add);
    writeFileSync(join(copy, "check.ts"), check);
    // With declarations, as the package is built.
    const compilerOptions = { declaration: true };
    const options = { extends: "./tsconfig.json", compilerOptions, include: ["src", "machines", "check.ts"] };
    writeFileSync(join(copy, "tsconfig.recipe.json"), JSON.stringify(options));
    run(copy, ["node_modules/typescript/bin/tsc", "-p", "tsconfig.recipe.json"]);
    run(copy, ["check.ts"]);
    return [...new Set(edits.map(({ file }) => file))];
  } finally {
    rmSync(copy, { recursive: true });
  }
}

function insert(path: string, before: string, add: string): void {
  const parts = readFileSync(path, "utf8").split(before);
  if (parts.length !== 2) throw new Error(`"${before}" stands ${parts.length - 1} times in ${path}, and not once`);
  writeFileSync(path, parts.join(`${add}${before}`));
}

function run(cwd: string, command: readonly string[]): void {
  try {
    execFileSync(process.execPath, command, { cwd, encoding: "utf8", stdio: "pipe" });
  } catch (thrown) {
    const { stdout, stderr } = thrown as { readonly stdout: string; readonly stderr: string };
    throw new Error(`${command.join(" ")} failed:\n${stdout}${stderr}`);
  }
}

/** A kernel with one step; with a gate in front of it if `gate` is given. */
const oneStep = (gate: string): string => `
import assert from "node:assert/strict";
import { defineCapability, defineOperator } from "./src/index.ts";
import { createTestKernel, testCaller } from "./src/testing/index.ts";
import { z } from "zod";

const operator = defineOperator({ name: "Recipe.Work", input: z.object({}), run: () => ({ done: true }) });
const capability = defineCapability({
  intentType: "Recipe.Try",
  version: "1.0",
  input: z.object({}),
  operators: [operator],
  plan: () => ({
    reasoning: "One step.",
    steps: [{ step_id: "work", name: "Work", operator: "Recipe.Work", params: {}${gate} }],
  }),
});
await using t = await createTestKernel({ capabilities: [capability] });
const state = await t.run("Recipe.Try", {});
`;

const addEventType: Recipe = {
  edits: [
    {
      file: "src/contract/events/step-events.ts",
      before: "  OUTCOME_DRAFTED: event<",
      add: '  STEP_REPRICED: event<{ readonly extra: number }>({ from: "workflow", to: "step", progress: true }),\n',
    },
    {
      file: "src/tiers/t4-execution/decide/step/finish-step.ts",
      before: '  run.log.note(draft("STEP_SUCCEEDED", succeeded, step.step_id));',
      add: '  run.log.note(draft("STEP_REPRICED", { extra: 3 }, step.step_id));\n',
    },
    {
      file: "machines/fold.ts",
      before: "  STEP_FAILED(record, payload, meta) {",
      add: "  STEP_REPRICED(record, { extra }) {\n    record.spent = addCost(record.spent, extra);\n  },\n",
    },
    {
      file: "src/tiers/t6-metacognition/explain.ts",
      before: "  STEP_FAILED: ({ blocked, error }) =>",
      add: "  STEP_REPRICED: ({ extra }) => `it cost $" + "{extra} more than was estimated`,\n",
    },
  ],
  check: `${oneStep("")}
const { workflow_id } = state;
assert.equal(state.state, "completed");
assert.ok((await t.types(workflow_id)).includes("STEP_REPRICED"));
const { why } = await t.kernel.explain(workflow_id, testCaller);
assert.ok(why.includes("work: it cost 3 more than was estimated"), why.join("\\n"));
assert.equal((await t.kernel.replay(workflow_id, testCaller)).identical, true);
`,
};

const addGateField: Recipe = {
  edits: [
    {
      file: "src/contract/gate.ts",
      before: "  /** The step's estimated cost. */",
      add: "  /** Whom a person may ask about it. */\n  contact: z.string().optional(),\n",
    },
    {
      file: "src/tiers/t4-execution/decide/gate/open-gate.ts",
      before: "    estimated_cost: step.estimated_cost,\n    opened_at:",
      add: '    contact: "the owner of the step " + step.name,\n',
    },
    {
      file: "src/protocol/describe-gate.ts",
      before: '    ...each("takes", takes),',
      add: '    ...each("contact", gate.contact === undefined ? [] : [gate.contact]),\n',
    },
  ],
  check: `import { renderGate } from "./src/faces/cli/render-gate.ts";
import { renderGate as renderMcpGate } from "./src/protocol/tell-gate.ts";
import { describeNotice } from "./src/observers/notifiers/describe-notice.ts";
${oneStep(', gate: { reason: "look" }')}
const [gate] = state.gates;
assert.ok(gate);
const look = { paint: (_style: unknown, text: string) => text, now: () => 0 };
const { workflow_id, tenant_id, opened_at: at } = gate;
const about = { workflow_id, tenant_id, intent_type: "Recipe.Try" };
const notice = { notice_id: "n1", kind: "opened" as const, at, ...about, gate, gate_now: gate, cancelled: null };
const told = describeNotice(notice, { maxSubject: 99, maxPreview: 99, maxPayload: 99, linkOnly: false });
for (const shown of [renderGate(gate, look), renderMcpGate(gate), JSON.stringify(told.facts)])
  assert.match(shown, /contact.*the owner of the step Work/i);
const [listed] = await t.kernel.gates({}, testCaller);
assert.equal(listed?.contact, gate.contact);
`,
};

describe("the recipes of CONTRIBUTING", () => {
  it("an event type that changes the record and answers why takes at most 4 files", { timeout: 120_000 }, () => {
    expect(perform(addEventType).length).toBeLessThanOrEqual(4);
  });

  it("a field of a gate that every face shows takes at most 5 files", { timeout: 120_000 }, () => {
    expect(perform(addGateField).length).toBeLessThanOrEqual(5);
  });
});
