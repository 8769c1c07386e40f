/** Several decisions of one command: a line for each, and an exit code that says whether any was refused. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { WorkflowState } from "../../src/contract/workflow-state.ts";
import type { GateDecisionsResponse } from "../../src/index.ts";
import { makeTempFolder, type TempFolder } from "../operators/temp-folder.ts";
import { readHere, runHere } from "./command-line.ts";

let folder: TempFolder;
let at: readonly string[] = [];
const module = (path: string): string => JSON.stringify(join(import.meta.dirname, "../../src/define", path));
const pack = `
import { z } from ${JSON.stringify(import.meta.resolve("zod"))};
import { defineCapability } from ${module("define-capability.ts")};
import { defineOperator } from ${module("define-operator.ts")};
const send = defineOperator({
  name: "Vote.Send", input: z.looseObject({}), effect: "write_draft", run: () => ({ sent: true }),
});
export const votes = defineCapability({
  intentType: "Vote.Send.Once", version: "1.0", input: z.object({}), operators: [send],
  plan: {
    reasoning: "somebody must agree", steps: [{ step_id: "send", name: "Send", operator: "Vote.Send", gate: {} }],
  },
});
`;

beforeAll(() => {
  folder = makeTempFolder();
  writeFileSync(join(folder.path, "votes.ts"), pack);
  at = ["--db", join(folder.path, "votes.db"), "--capabilities", join(folder.path, "votes.ts")];
});
afterAll(() => folder[Symbol.dispose]());

const approvalOf = async () => {
  const { workflow_id, gates } = await readHere<WorkflowState>("run", "Vote.Send.Once", "--wait", ...at);
  return { workflow_id, decision: "approve", payload: { payload_digest: gates[0]?.payload_digest } };
};

describe("decide", () => {
  it("takes each decision or refuses it, tells a line for each, and fails if one was refused", async () => {
    const [first, second] = [await approvalOf(), await approvalOf()];
    const file = join(folder.path, "decisions.json");
    writeFileSync(file, JSON.stringify([first, { ...second, payload: { payload_digest: "of nothing" } }]));
    const { out, err, code } = await runHere("decide", `@${file}`, ...at);
    expect(out).toContain(`${first.workflow_id}  resumed`);
    expect(out).toMatch(new RegExp(`${second.workflow_id}  refused: T5_GATE_`));
    expect([code, err]).toEqual([1, expect.stringContaining("T5_GATE_")]);
    expect((await readHere<WorkflowState>("show", first.workflow_id, ...at)).state).toBe("completed");
    const rest = await readHere<GateDecisionsResponse>("decide", JSON.stringify([second]), ...at);
    expect(rest).toMatchObject({ taken: 1, refused: 0 });
  });

  it.each([
    ["no list", '{"a":1}', 2],
    ["no JSON", "[{", 2],
    ["an unknown member", '[{"workflow":"x"}]', 1],
    ["an empty list", "[]", 1],
  ])("%s is refused with a code or as wrong usage", async (_what, given, code) => {
    expect((await runHere("decide", given, ...at)).code).toBe(code);
  });
});
