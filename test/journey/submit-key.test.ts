/** A submit's idempotency key: the same request again is one workflow, in whichever process and after whatever end. */
import { describe, expect, it } from "vitest";
import { sqliteLedger } from "../../src/ledger/sqlite/index.ts";
import type { LedgerStore } from "../../src/ports/ledger-store.ts";
import { createTestKernel, memoryLedger, type TestKernelOptions, testCaller } from "../../src/testing/index.ts";
import { counted, held, intent, payloads, publishing, refusalOf, step, story } from "../gates/story.ts";
import { ledgerPaths, openProcess } from "../recovery/shared-file.ts";

const newPath = ledgerPaths();
const request = (key: string | undefined, more: object = {}) => ({
  ...testCaller,
  intent_hint: { intent_type: intent, inputs: {} },
  ...(key !== undefined && { idempotency_key: key }),
  ...more,
});
const publish = (): Pick<TestKernelOptions, "capabilities"> => ({ capabilities: [publishing().capability] });

describe("a submit key", () => {
  it("[API-01] makes the same request one workflow, told with the same answer, however often it comes", async () => {
    await using t = await createTestKernel(publish());
    const first = await t.kernel.submit(request("k"));
    const together = await Promise.all([t.kernel.submit(request("k")), t.kernel.submit(request("k"))]);
    await t.rest(first.workflow_id);
    for (const again of [...together, await t.kernel.submit(request("k"))]) expect(again).toEqual(first);
    expect(await t.kernel.workflows()).toHaveLength(1);
    expect(await payloads(t, first.workflow_id, "INTENT_RECEIVED")).toMatchObject([{ submission: { key: "k" } }]);
  });

  it("holds when the same request comes again before the first was answered", async () => {
    await using t = await createTestKernel(publish());
    const answers = await Promise.all(Array.from({ length: 5 }, () => t.kernel.submit(request("k"))));
    expect(new Set(answers.map((answer) => answer.workflow_id)).size).toBe(1);
    await t.rest(answers[0]?.workflow_id as string);
    expect(await t.kernel.workflows()).toHaveLength(1);
    expect(t.kernel.vitals()).toMatchObject({ workflows: 0, waiting: 0 });
  });

  it("with another request is refused, and the workflow it names is as it was", async () => {
    await using t = await createTestKernel(publish());
    const { workflow_id } = await t.kernel.submit(request("k"));
    await t.rest(workflow_id);
    const before = await t.types(workflow_id);
    const error = await refusalOf(t.kernel.submit(request("k", { thread_id: 9 })));
    expect([error.code, error.detail["workflow_id"]]).toEqual(["T4_IDEMPOTENCY_PAYLOAD_MISMATCH", workflow_id]);
    expect(await t.types(workflow_id)).toEqual(before);
    expect(await t.kernel.workflows()).toHaveLength(1);
  });

  it.each([
    ["another tenant", { tenant_id: 2 }],
    ["the tenant as text", { tenant_id: "1" }],
    ["another principal", { principal: { ...testCaller.principal, id: 2 } }],
    ["another kind of principal", { principal: { ...testCaller.principal, type: "service" } }],
  ])("of %s is another key", async (_who, caller) => {
    await using t = await createTestKernel(publish());
    const first = await t.kernel.submit(request("k"));
    const other = await t.kernel.submit(request("k", caller));
    expect(other.workflow_id).not.toBe(first.workflow_id);
  });

  it("stands for the request as it was when it came, whatever its sender makes of it meanwhile", async () => {
    await using t = await createTestKernel(publish());
    const own = { ...request("k"), thread_id: 1 };
    const answer = t.kernel.submit(own);
    own.thread_id = 2;
    const first = await answer;
    expect(await t.kernel.submit({ ...request("k"), thread_id: 1 })).toEqual(first);
    const other = t.kernel.submit({ ...request("k"), thread_id: 2 });
    expect((await refusalOf(other)).code).toBe("T4_IDEMPOTENCY_PAYLOAD_MISMATCH");
    let reads = 0;
    const changing = Object.defineProperty(request("l"), "thread_id", { enumerable: true, get: () => ++reads });
    const second = await t.kernel.submit(changing);
    expect([reads, await t.kernel.submit({ ...request("l"), thread_id: 1 })]).toEqual([1, second]);
  });

  it("of a request that was refused is free for what mends it", async () => {
    await using t = await createTestKernel(publish());
    const unknown = { intent_hint: { intent_type: "No.Such" } };
    expect((await refusalOf(t.kernel.submit(request("k", unknown)))).code).toBe("T1_NORMALIZE_UNKNOWN_INTENT");
    expect((await t.kernel.submit(request("k"))).status).toBe("accepted");
  });

  it("is answered by a full house", async () => {
    const busy = held<object>();
    const slow = counted("Note.Slow", {}, () => busy.promise);
    const capabilities = [story([slow], [step("slow", slow)])];
    await using t = await createTestKernel({ capabilities, limits: { maxInFlight: 1, maxWaitingSubmits: 0 } });
    const first = await t.kernel.submit(request("k"));
    expect((await refusalOf(t.kernel.submit(request("other")))).category).toBe("resource");
    expect(await t.kernel.submit(request("k"))).toEqual(first);
    busy.release({});
  });

  it("is answered by a kernel that would refuse the request now", async () => {
    const path = newPath();
    await using one = await openProcess(path, publish());
    const first = await one.kernel.submit(request("k"));
    await using two = await openProcess(path, { recover: false });
    expect((await refusalOf(two.kernel.submit(request("other")))).code).toBe("T1_NORMALIZE_UNKNOWN_INTENT");
    expect(await two.kernel.submit(request("k"))).toEqual(first);
  });

  it.each(["", "k".repeat(256), "ключ", "a\nb"])("that is none (%j) is refused", async (key) => {
    await using t = await createTestKernel(publish());
    expect((await refusalOf(t.kernel.submit(request(key)))).code).toBe("T0_VALIDATION_SCHEMA_MISMATCH");
  });

  it("leaves a ledger that replays to the same bytes", async () => {
    await using t = await createTestKernel(publish());
    const { workflow_id } = await t.kernel.submit(request("k"));
    await t.rest(workflow_id);
    await t.approve(workflow_id);
    await t.rest(workflow_id);
    expect(await t.kernel.replay(workflow_id)).toMatchObject({ identical: true });
  });
});

describe("a submit key over processes", () => {
  it("gets the first answer after a restart, and starts nothing", async () => {
    const path = newPath();
    const one = await openProcess(path, publish());
    const first = await one.kernel.submit(request("k"));
    await one.rest(first.workflow_id);
    await one.kernel.stop();
    await using two = await openProcess(path, publish());
    expect(await two.kernel.submit(request("k"))).toEqual(first);
    expect((await refusalOf(two.kernel.submit(request("k", { thread_id: 9 })))).code).toBe(
      "T4_IDEMPOTENCY_PAYLOAD_MISMATCH",
    );
    expect(await two.kernel.workflows()).toHaveLength(1);
  });

  it("names one workflow when two processes are asked in the same moment", async () => {
    const path = newPath();
    await using one = await openProcess(path, publish());
    await using two = await openProcess(path, publish());
    // Both have looked before either may write: who comes second is refused by the file itself.
    one.freeze();
    two.freeze();
    const asked = [one, two, one, two].map((process) => process.kernel.submit(request("k")));
    for (let i = 0; i < 20; i += 1) await new Promise<void>((resolve) => setImmediate(resolve));
    one.thaw();
    two.thaw();
    const answers = await Promise.all(asked);
    expect(new Set(answers.map((answer) => answer.workflow_id)).size).toBe(1);
    expect(await one.kernel.workflows()).toHaveLength(1);
    expect(await two.kernel.workflows()).toHaveLength(1);
  });

  it("gets the answer that a process owed which died between its commit and its answer", async () => {
    const path = newPath();
    const kept = sqliteLedger({ path });
    const dying: LedgerStore = {
      ...kept,
      append: async (batch) => {
        await kept.append(batch);
        return new Promise(() => undefined);
      },
    };
    const one = await createTestKernel({ ...publish(), ledger: dying });
    void one.kernel.submit(request("k"));
    await using two = await openProcess(path, { ...publish(), at: 3_600_000, recover: false });
    while ((await two.kernel.workflows()).length === 0) await new Promise<void>((resolve) => setImmediate(resolve));
    const { workflow_id } = await two.kernel.submit(request("k"));
    expect((await two.kernel.workflows()).map((workflow) => workflow.workflow_id)).toEqual([workflow_id]);
    expect((await two.kernel.execute(workflow_id)).state).toBe("waiting_for_user");
    await kept.close();
  });

  it("is told the failure of a ledger that wrote nothing, and may come again", async () => {
    const kept = memoryLedger();
    let isDown = true;
    const failing: LedgerStore = {
      ...kept,
      append: async (batch) => {
        if (isDown) throw new Error("the disk is gone");
        return kept.append(batch);
      },
    };
    await using t = await createTestKernel({ ...publish(), ledger: failing });
    expect((await refusalOf(t.kernel.submit(request("k")))).code).toMatch(/^T0_LEDGER/);
    isDown = false;
    expect((await t.kernel.submit(request("k"))).status).toBe("accepted");
  });
});
