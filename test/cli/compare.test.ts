/** Two runs beside one another: what differs in each step, on the command line and as data. */
import { join } from "node:path";
import { expect, it } from "vitest";
import { sqliteLedger } from "../../src/ledger/sqlite/index.ts";
import type { ComparedRow } from "../../src/protocol/compare-runs.ts";
import { createTestKernel, testCaller } from "../../src/testing/index.ts";
import { counted, intent, step, story } from "../gates/story.ts";
import { order, pay } from "../lifecycle/shop-children.ts";
import { makeTempFolder } from "../operators/temp-folder.ts";
import { readHere, runHere } from "./command-line.ts";

it("says of each step what differs, and of the same steps that they are the same", async () => {
  using folder = makeTempFolder();
  const path = join(folder.path, "compare.db");
  const send = counted("Note.Send", { effect: "write_draft" });
  const steps = [step("look", send), step("send", send, { gate: {}, depends_on: ["look"] })];
  const t = await createTestKernel({
    capabilities: [story([send], steps), order, pay],
    ledger: sqliteLedger({ path }),
    defaultPolicies: false,
  });
  const decided: string[] = [];
  for (const decision of ["approve", "reject"] as const) {
    const id = await t.submit(intent, { of: decision });
    await t.rest(id);
    await t.kernel.decideGate(id, { ...testCaller, decision, payload: { comment: "so" } });
    await t.rest(id);
    decided.push(id);
  }
  const { workflow_id: shop } = await t.run("Shop.Order");
  await t.kernel.stop();
  const [one = "", other = ""] = decided;
  const at = ["--db", path, "--tenant", "1"];
  const { out, code } = await runHere("compare", one, other, ...at);
  expect(code).toBe(0);
  expect(out).toMatch(/input\n {4}A {2}\{"of":"approve"\}\n {4}B {2}\{"of":"reject"\}/);
  expect(out).toMatch(/look: [^\n]*the same/);
  expect(out).toMatch(/decisions\n {4}A .*gate approved by user 1\n {4}B .*gate rejected by user 1/);
  const { rows } = await readHere<{ readonly rows: readonly ComparedRow[] }>("compare", one, other, ...at);
  expect(rows.map(({ step_id, differs }) => [step_id, differs.length > 0])).toEqual([
    [null, true],
    ["look", false],
    ["send", true],
  ]);
  const apart = await runHere("compare", one, shop, ...at);
  expect(apart.out).toContain("only in A");
  expect(apart.out).toContain("only in B");
  expect((await runHere("compare", one, "wf_01KDVDNA0047C4FEZDQK8YZZZZ", ...at)).err).toContain(
    "T4_WORKFLOW_NOT_FOUND",
  );
});
