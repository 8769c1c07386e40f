/** Queues on the command line: who runs and who waits, a page at a time. */
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { defineCapability, defineOperator, type QueuePage } from "../../src/index.ts";
import { sqliteLedger } from "../../src/ledger/sqlite/index.ts";
import { createTestKernel } from "../../src/testing/index.ts";
import { makeTempFolder, type TempFolder } from "../operators/temp-folder.ts";
import { readHere, runHere } from "./command-line.ts";

const pay = defineOperator({ name: "Shop.Pay", input: z.object({}), run: async () => "paid" });
const shop = defineCapability({
  intentType: "Shop.Order",
  version: "1.0",
  input: z.object({ vendor: z.string() }),
  operators: [pay],
  queue: { key: "{{input.vendor}}", concurrency: 1 },
  plan: ({ step }) => ({
    reasoning: "pay",
    steps: [step({ step_id: "pay", name: "Pay", operator: "Shop.Pay", params: {}, gate: { reason: "look" } })],
  }),
});

const acme = "acme\u001b[2J";
let folder: TempFolder;
let at: readonly string[] = [];

beforeAll(async () => {
  folder = makeTempFolder();
  const path = join(folder.path, "queues.db");
  const ledger = sqliteLedger({ path });
  await using t = await createTestKernel({ capabilities: [shop], ledger, defaultPolicies: false });
  for (const vendor of [acme, acme, "bolt"]) await t.submit("Shop.Order", { vendor });
  await t.clock.settle();
  at = ["--db", path, "--tenant", "1"];
});
afterAll(() => folder[Symbol.dispose]());

describe("queues", () => {
  it("lists each key with who runs and who waits, without control characters, a page at a time", async () => {
    const { out } = await runHere("queues", ...at);
    expect(out).toMatch(/Shop\.Order +acme.+1 of 1 +1/);
    expect(out).not.toContain("\u001b[2J");
    const first = await readHere<QueuePage>("queues", "--limit", "1", ...at);
    expect(first.queues).toEqual([expect.objectContaining({ key: acme, concurrency: 1, running: 1, waiting: 1 })]);
    const second = await readHere<QueuePage>("queues", "--name", "Shop.Order", "--after", String(first.next), ...at);
    expect(second).toMatchObject({ queues: [{ key: "bolt", running: 1, oldest_waiting: null }], next: null });
    expect((await runHere("queues", "--name", "none", ...at)).out).toBe("no queues\n");
  });

  it("get limits in place of those of their capabilities, by a person with a reason", async () => {
    const given = ["--concurrency", "2", "--rate", "5/60000", "--reason", "slow", "--role", "admin", ...at];
    expect((await runHere("limit", "Shop.Order", ...given)).out).toBe("Shop.Order: limits set\n");
    const { queues } = await readHere<QueuePage>("queues", "--limit", "1", ...at);
    expect(queues).toMatchObject([
      { concurrency: 2, set: { concurrency: 2, rate: { limit: 5, per_ms: 60_000 }, reason: "slow" } },
    ]);
    const lifted = await runHere("limit", "Shop.Order", "--lift", "--reason", "done", "--role", "admin", ...at);
    expect(lifted.out).toBe("Shop.Order: limits lifted\n");
  });
});
