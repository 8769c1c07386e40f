/**
 * A ledger behind a pooler: refused by name where its sessions lack what a ledger needs, and else without what they
 * cannot hold.
 */
import { describe, expect, it } from "vitest";
import { createKernel, type Kernel } from "../../src/index.ts";
import { postgresLedger } from "../../src/ledger/postgres/index.ts";
import { testCaller } from "../../src/testing/index.ts";
import { counted, refusalOf } from "../fixtures.ts";
import { intentType, oneStep } from "../journey/parts.ts";
import { openPooler, type PoolerKind } from "./pooler.ts";
import { freshSchema } from "./server.ts";

describe("a pooler", () => {
  it.each<PoolerKind>(["refuses", "drops"])(
    "that %s the settings of a session is named, with what to do",
    async (kind) => {
      const pooler = await openPooler(kind);
      const { code, message } = await refusalOf(postgresLedger({ url: pooler.url, schema: freshSchema() }).open());
      pooler.close();
      expect([code, message]).toEqual(["T0_LEDGER_POOLED", expect.stringContaining("pooler")]);
    },
  );

  it("that shares its connections holds no locks: what a process left is taken up when its lease ends", async () => {
    const schema = freshSchema();
    const poolers = [await openPooler("shares"), await openPooler("shares")];
    const isDead = Promise.withResolvers<void>();
    const act = counted("Test.Act", { idempotent: true }, () => (act.calls.length === 1 ? isDead.promise : {}));
    const open = ({ url }: { readonly url: string }): Promise<Kernel> => {
      const ledger = postgresLedger({ url, schema, timeoutMs: 500 });
      return createKernel({ ledger, capabilities: [oneStep(act)], limits: { leaseMs: 1000 } });
    };
    const [first, second] = [await open(poolers[0] as never), await open(poolers[1] as never)];
    const hint = { ...testCaller, intent_hint: { intent_type: intentType, inputs: {} } };
    const { workflow_id } = await first.submit(hint);
    while (act.calls.length === 0) await new Promise(setImmediate);
    poolers[0]?.close();
    let state = "";
    while (state !== "completed") state = (await second.workflow(workflow_id)).state;
    expect(new Set(act.calls.map(({ idempotencyKey }) => idempotencyKey)).size).toBe(1);
    isDead.resolve();
    await Promise.all([first.stop({ drainMs: 0 }), second.stop({ drainMs: 0 })]);
    poolers[1]?.close();
  });
});
