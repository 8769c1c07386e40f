/** An event that is sent from the command line: it ends waits, is kept, or is refused. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { WorkflowState } from "../../src/contract/workflow-state.ts";
import { type CapabilityDefinition, createKernel, type EmitResponse } from "../../src/index.ts";
import { sqliteLedger } from "../../src/ledger/sqlite/index.ts";
import { makeTempFolder, type TempFolder } from "../operators/temp-folder.ts";
import { readHere, runHere } from "./command-line.ts";

const as = { tenant_id: 1, principal: { type: "user", id: "local", role: "user" } } as const;
let folder: TempFolder;
let at: readonly string[] = [];
const module = (path: string): string => JSON.stringify(join(import.meta.dirname, "../../src/define", path));
const pack = `
import { z } from ${JSON.stringify(import.meta.resolve("zod"))};
import { defineCapability } from ${module("define-capability.ts")};
import { defineOperator } from ${module("define-operator.ts")};
const note = defineOperator({ name: "Deal.Note", input: z.looseObject({}), run: () => null });
export const deals = defineCapability({
  intentType: "Deal.Close", version: "1.0", input: z.object({ contract: z.string() }), operators: [note],
  plan: ({ wait, input: { contract: key } }) => {
    const sign = wait({ step_id: "sign", name: "Sign", event: "contract.signed", key,
      schema: z.object({ by: z.string() }) });
    const paid = wait({ step_id: "paid", name: "Paid", event: "contract.paid", key, depends_on: [sign] });
    return { reasoning: "sign", steps: [sign, paid] };
  },
});
`;

beforeAll(() => {
  folder = makeTempFolder();
  writeFileSync(join(folder.path, "deals.ts"), pack);
  at = ["--db", join(folder.path, "deals.db"), "--capabilities", join(folder.path, "deals.ts")];
});
afterAll(() => folder[Symbol.dispose]());

/** A workflow that waits, and which no process holds. */
async function begin(contract: string): Promise<string> {
  const { deals } = (await import(join(folder.path, "deals.ts"))) as { deals: CapabilityDefinition };
  await using kernel = await createKernel({
    ledger: sqliteLedger({ path: join(folder.path, "deals.db") }),
    capabilities: [deals],
  });
  const hint = { intent_type: "Deal.Close", inputs: { contract } };
  const { workflow_id } = await kernel.submit({ ...as, intent_hint: hint });
  for await (const { stage } of kernel.progress(workflow_id)) if (stage === "waiting") break;
  return workflow_id;
}

describe("emit", () => {
  it("ends the wait that show tells of, runs its workflow to the next rest, and says so", async () => {
    const workflow_id = await begin("c-1");
    expect((await runHere("show", workflow_id, ...at)).out).toContain("Sign: waits for contract.signed of c-1");
    const file = join(folder.path, "payload.json");
    writeFileSync(file, '{"by":"ada"}');
    const sent = await runHere("emit", "contract.signed", "c-1", `@${file}`, "--event-id", "e-1", ...at);
    expect(sent).toMatchObject({ code: 0, err: "", out: `e-1: resumed sign of ${workflow_id}\n` });
    expect((await runHere("show", workflow_id, ...at)).out).toContain("Paid: waits for contract.paid of c-1");
    const again = await runHere("emit", "contract.signed", "c-1", '{"by":"ada"}', "--event-id", "e-1", ...at);
    expect(again).toMatchObject({ code: 0, out: `e-1, received before: resumed sign of ${workflow_id}\n` });
    expect(await readHere<EmitResponse>("emit", "contract.paid", "c-1", ...at)).toMatchObject({
      status: "resumed",
      resumed: [{ workflow_id, step_id: "paid" }],
    });
    expect((await readHere<WorkflowState>("show", workflow_id, ...at)).state).toBe("completed");
  });

  it("keeps an event for which no step waits, and says until when", async () => {
    await begin("c-2");
    const kept = await runHere("emit", "contract.paid", "c-9", "--event-id", "e-9", "--broadcast", ...at);
    expect(kept).toMatchObject({
      code: 0,
      out: expect.stringMatching(/^e-9: kept for later steps; expires in \d+ \w+\n$/),
    });
  });

  it.each<readonly [string, readonly string[], number, string]>([
    ["a payload that is no JSON", ["contract.signed", "c-3", "{"], 2, ""],
    ["no key", ["contract.signed"], 2, ""],
    ["a name with a space", ["contract signed", "c-3"], 1, "T0_VALIDATION_SCHEMA_MISMATCH"],
    ["another payload of one id", ["contract.paid", "c-9", "1", "--event-id", "e-9"], 1, "T4_EVENT_ID_REUSED"],
    ["a payload of another form", ["contract.signed", "c-3", "{}"], 1, "T4_EVENT_INVALID"],
    ["a role that sends no events", ["contract.signed", "c-3", "--role", "support"], 1, "T5_AUTHZ_FORBIDDEN"],
  ])("refuses %s with a code or as wrong usage", async (what, words, code, told) => {
    if (what === "a payload of another form") await begin("c-3");
    if (what === "another payload of one id") await runHere("emit", "contract.paid", "c-9", "--event-id", "e-9", ...at);
    const ran = await runHere("emit", ...words, ...at);
    expect([what, ran.code]).toEqual([what, code]);
    expect(ran.err).toContain(told);
  });
});
