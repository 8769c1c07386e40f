/** Items on the command line: what each gave, why one failed or was left out, a page at a time. */
import { join } from "node:path";
import { expect, it } from "vitest";
import { z } from "zod";
import { defineCapability, defineOperator, type ItemPage, operatorError } from "../../src/index.ts";
import { sqliteLedger } from "../../src/ledger/sqlite/index.ts";
import { createTestKernel } from "../../src/testing/index.ts";
import { makeTempFolder } from "../operators/temp-folder.ts";
import { readHere, runHere } from "./command-line.ts";

const pay = defineOperator({
  name: "Bank.Pay",
  input: z.object({ to: z.string() }),
  effect: "write_draft",
  run: ({ input: { to } }) => {
    if (to === "bolt")
      throw operatorError({ code: "CLOSED", category: "validation", message: "it is closed\u001b[2J" });
    return { paid: to };
  },
});
const payments = defineCapability({
  intentType: "Bank.Payments",
  version: "1.0",
  input: z.object({ to: z.array(z.string()) }),
  operators: [pay],
  plan: ({ input }) => ({
    reasoning: "all",
    steps: [
      {
        ...{ step_id: "all", name: "Pay all", kind: "each", params: { items: input.to } },
        ...{ key: "{{item.output}}", tolerate: "all" },
        do: { operator: "Bank.Pay", params: { to: "{{item.output}}" } },
      },
    ],
  }),
});

it("lists each with its key, its output or its error, without control characters, a page at a time", async () => {
  using folder = makeTempFolder();
  const path = join(folder.path, "items.db");
  const ledger = sqliteLedger({ path });
  const t = await createTestKernel({ capabilities: [payments], ledger, defaultPolicies: false });
  const { workflow_id: id } = await t.run("Bank.Payments", { to: ["acme", "bolt", "corp"] });
  await t.kernel.stop();
  const at = ["--db", path, "--tenant", "1"];
  const { out } = await runHere("items", id, ...at);
  expect(out).toMatch(/acme +succeeded +- +.*"paid":"acme"/);
  expect(out).toMatch(/bolt +failed +- +T0_VALIDATION_SCHEMA_MISMATCH: it is closed/);
  expect(out).not.toContain("\u001b[2J");
  const first = await readHere<ItemPage>("items", id, "--of", "all", "--limit", "2", ...at);
  expect(first.items.map(({ key }) => key)).toEqual(["acme", "bolt"]);
  const second = await readHere<ItemPage>("items", id, "--after", String(first.next), ...at);
  expect(second).toMatchObject({ items: [{ key: "corp" }], next: null });
  expect((await runHere("items", "wf_01JZ0000000000000000000000", ...at)).code).toBe(1);
});
