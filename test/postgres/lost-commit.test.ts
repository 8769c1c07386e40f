/** A connection that breaks, or says nothing more: what was committed is unknown, and the ledger is read. */
import { describe, expect, it } from "vitest";
import { createKernel } from "../../src/index.ts";
import { postgresLedger } from "../../src/ledger/postgres/index.ts";
import { nextTurn, testStream } from "../../src/testing/ledger-turns.ts";
import { counted, refusalOf } from "../fixtures.ts";
import { intentType, packageOf, planStep } from "../journey/parts.ts";
import { openProxy } from "./proxy.ts";
import { freshSchema, serverUrl } from "./server.ts";

async function onProxy(use: (proxy: Awaited<ReturnType<typeof openProxy>>, schema: string) => Promise<void>) {
  const proxy = await openProxy(serverUrl);
  try {
    await use(proxy, freshSchema());
  } finally {
    proxy.close();
  }
}

describe("a connection that is lost in COMMIT", () => {
  it("has the append fail with a coded error, though it took place; the next one goes on", async () => {
    await onProxy(async (proxy, schema) => {
      const store = postgresLedger({ url: proxy.url, schema, timeoutMs: 400 });
      await store.open();
      const one = nextTurn(testStream(1));
      expect((await store.append([one.entry]))[0]?.ok).toBe(true);
      const two = nextTurn(one.after);
      proxy.muteAfter("COMMIT");
      expect((await refusalOf(store.append([two.entry]))).code).toBe("T0_LEDGER_UNAVAILABLE");
      proxy.cut();
      expect(await store.append([two.entry])).toEqual([{ ok: false, reason: "clash" }]);
      expect((await store.append([nextTurn(two.after).entry]))[0]?.ok).toBe(true);
      expect(await store.read(testStream(1).id)).toHaveLength(3);
      await store.close();
    });
  });

  it("lets a kernel fold its workflow again and end it, with each effect once", async () => {
    await onProxy(async (proxy, schema) => {
      const acts = counted("Test.Act");
      const capability = packageOf(
        [acts],
        [
          planStep("s1", acts),
          planStep("s2", acts, { depends_on: ["s1"] }),
          planStep("s3", acts, { depends_on: ["s2"] }),
        ],
      );
      const ledger = postgresLedger({ url: proxy.url, schema, timeoutMs: 400 });
      const kernel = await createKernel({ ledger, capabilities: [capability] });
      const caller = { tenant_id: 1, principal: { type: "user", id: 1, role: "user" } };
      const { workflow_id } = await kernel.submit({ ...caller, intent_hint: { intent_type: intentType, inputs: {} } });
      proxy.muteAfter("COMMIT");
      const settled = kernel.settled(workflow_id);
      const cut = setTimeout(proxy.cut, 300);
      expect((await settled).state).toBe("completed");
      clearTimeout(cut);
      expect(new Set(acts.calls.map(({ idempotencyKey }) => idempotencyKey)).size).toBe(3);
      expect(acts.calls).toHaveLength(3);
      expect(await kernel.verify()).toMatchObject({ ok: true });
      await kernel.stop({ drainMs: 0 });
    });
  });
});
