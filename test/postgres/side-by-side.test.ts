/** Kernels beside one another on one ledger: one that ends, and one of an older release. */
import { Client } from "pg";
import { describe, expect, it } from "vitest";
import { wallClock } from "../../src/adapters/wall-clock.ts";
import { createKernel, type Kernel } from "../../src/index.ts";
import { schemaVersion } from "../../src/ledger/postgres/schema.ts";
import { testCaller } from "../../src/testing/index.ts";
import { type Counted, counted, refusalOf } from "../fixtures.ts";
import { intentType, oneStep } from "../journey/parts.ts";
import { freshLedger, freshSchema, serverUrl } from "./server.ts";

const hint = { ...testCaller, intent_hint: { intent_type: intentType, inputs: {} } };

/** Its first call never ends by itself. */
function holding(): Counted {
  const act = counted("Test.Act", { idempotent: true }, ({ signal }) =>
    act.calls.length > 1
      ? {}
      : new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason), { once: true })),
  );
  return act;
}

const open = (schema: string, act: Counted): Promise<Kernel> =>
  createKernel({ ledger: freshLedger(schema), capabilities: [oneStep(act)] });

async function begin(kernel: Kernel, act: Counted): Promise<string> {
  const { workflow_id } = await kernel.submit(hint);
  while (act.calls.length === 0) await new Promise(setImmediate);
  return workflow_id;
}

/** Long before the lease of the one that began it would end. */
async function expectDoneSoon(kernel: Kernel, workflowId: string): Promise<void> {
  const soon = wallClock.now() + 15_000;
  while ((await kernel.workflow(workflowId)).state !== "completed");
  expect(wallClock.now()).toBeLessThan(soon);
}

const setSchema = async (schema: string, version: number): Promise<void> => {
  const client = new Client({ connectionString: serverUrl });
  await client.connect();
  await client.query(`UPDATE ${schema}.meta SET value = $1 WHERE name = 'schema_version'`, [String(version)]);
  await client.end();
};

describe("a kernel beside others", () => {
  it("that stops gives up what it holds, and another goes on with it at once", async () => {
    const [schema, act] = [freshSchema(), holding()];
    const [first, second] = [await open(schema, act), await open(schema, act)];
    const id = await begin(first, act);
    await first.stop({ drainMs: 0 });
    await expectDoneSoon(second, id);
    expect(new Set(act.calls.map(({ idempotencyKey }) => idempotencyKey)).size).toBe(1);
    await second.stop({ drainMs: 0 });
  });

  it("[LED-09] of an older release writes nothing once a newer one has migrated, and frees its leases", async () => {
    const [schema, act] = [freshSchema(), holding()];
    const older = await open(schema, act);
    const id = await begin(older, act);
    await setSchema(schema, schemaVersion + 1);
    for (const ask of [() => older.submit(hint), () => older.ready(), () => older.workflows()])
      expect((await refusalOf(ask())).code).toBe("T0_LEDGER_NEWER_SCHEMA");
    // The newer release knows its own schema.
    await setSchema(schema, schemaVersion);
    const newer = await open(schema, act);
    await expectDoneSoon(newer, id);
    expect(await newer.verify()).toMatchObject({ ok: true });
    await Promise.all([older.stop({ drainMs: 0 }), newer.stop({ drainMs: 0 })]);
  });
});
