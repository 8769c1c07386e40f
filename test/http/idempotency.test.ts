/** Idempotency-Key: the same request again gets the first answer, and is done once. */
import { describe, expect, it } from "vitest";
import { kernelError } from "../../src/contract/error-codes.ts";
import { createAnswers } from "../../src/faces/http/remember-answers.ts";
import { KernelErrorException, moduleRef } from "../../src/index.ts";
import { sqliteLedger } from "../../src/ledger/sqlite/index.ts";
import { testCaller } from "../../src/testing/index.ts";
import { counted, held, intent, payloads, publishing, refusalOf, step, story } from "../gates/story.ts";
import { ledgerPaths } from "../recovery/shared-file.ts";
import { codeOf, type EdgeUnderTest, openEdge, pathOf, submitPath, type Told } from "./edge-fixture.ts";

const hint = { intent_hint: { intent_type: intent, inputs: {} } };
const publish = () => ({ capabilities: [publishing().capability] });
const keyed = <T = Told["body"]>(
  edge: EdgeUnderTest,
  path: string,
  body: object,
  more: { key?: string; as?: string } = {},
) => edge.ask<T>(path, { body, as: more.as ?? "own", headers: { "idempotency-key": more.key ?? "k-1" } });

describe("a key", () => {
  it("[API-01] with the same body submits once and answers the same", async () => {
    await using edge = await openEdge(publish());
    const first = await keyed(edge, submitPath, hint);
    const again = await keyed(edge, submitPath, { ...hint, ...testCaller });
    expect([first.status, again.status]).toEqual([202, 202]);
    expect(again.body).toEqual(first.body);
    expect(again.headers.get("location")).toBe(first.headers.get("location"));
    expect([first, again].map((told) => told.headers.get("idempotent-replayed"))).toEqual([null, "true"]);
    expect(await edge.t.kernel.workflows()).toHaveLength(1);
  });

  it("with another body is refused, and so is one that is no key", async () => {
    await using edge = await openEdge(publish());
    await keyed(edge, submitPath, hint);
    const other = await keyed(edge, submitPath, { ...hint, thread_id: 2 });
    expect([other.status, codeOf(other)]).toEqual([422, "T4_IDEMPOTENCY_PAYLOAD_MISMATCH"]);
    expect((await keyed(edge, submitPath, hint, { key: "k".repeat(256) })).status).toBe(400);
    expect(await edge.t.kernel.workflows()).toHaveLength(1);
  });

  it("of another caller, for another workflow or operation is another key", async () => {
    await using edge = await openEdge(publish());
    for (const as of ["own", "admin", "foreign"])
      expect((await keyed(edge, submitPath, hint, { as })).status).toBe(202);
    const ids = (await edge.t.kernel.workflows()).map((one) => one.workflow_id).reverse();
    expect(ids).toHaveLength(3);
    for (const id of ids) await edge.t.rest(id);
    for (const id of ids.slice(0, 2)) {
      const gate = await keyed(edge, pathOf(id, "/gate"), { gate_id: "gate-publish", decision: "reject" });
      expect(gate).toMatchObject({ status: 200, body: { workflow_id: id, status: "rejected" } });
      expect((await keyed(edge, pathOf(id, "/gate"), { gate_id: "gate-publish", decision: "reject" })).body).toEqual(
        gate.body,
      );
      expect((await keyed(edge, pathOf(id, "/gate"), { gate_id: "gate-publish", decision: "approve" })).status).toBe(
        422,
      );
    }
  });

  it("of a decision is in the ledger with it, so that it reaches the same gate from every process", async () => {
    await using edge = await openEdge(publish());
    const { workflow_id } = await edge.t.run(intent);
    await keyed(edge, pathOf(workflow_id, "/gate"), { gate_id: "gate-publish", decision: "approve" });
    const [approved] = await payloads(edge.t, workflow_id, "USER_APPROVED");
    expect(approved?.idempotency_key).toBe("k-1");
  });

  it("of a request that was refused is asked anew, with what mends it", async () => {
    await using edge = await openEdge({ ...publish(), limits: { maxInFlight: 1, maxWaitingSubmits: 0 } });
    const unknown = { intent_hint: { intent_type: "No.Such" } };
    const refused = await keyed(edge, submitPath, unknown);
    expect(refused.status).toBe(400);
    expect((await keyed(edge, submitPath, unknown)).status).toBe(400);
    expect((await keyed(edge, submitPath, {}, { key: "k-2" })).status).toBe(400);
    const id = await edge.t.submit(intent);
    expect((await keyed(edge, submitPath, hint, { key: "k-2" })).status).toBe(429);
    await edge.t.rest(id);
    await edge.t.kernel.cancel(id, testCaller);
    expect((await keyed(edge, submitPath, hint, { key: "k-2" })).status).toBe(202);
  });
});

describe("the header", () => {
  it.each([
    ["a structured text", '"k-1"'],
    ["a text with escapes", '"k\\-1"', 400],
    ["the bare word", "k-1"],
  ])("as %s (%s) names the key", async (_form, header, status = 202) => {
    await using edge = await openEdge(publish());
    const first = await keyed(edge, submitPath, hint, { key: "k-1" });
    const again = await keyed(edge, submitPath, hint, { key: header });
    expect(again.status).toBe(status);
    if (status === 202) expect(again.body).toEqual(first.body);
  });

  it("may hold quotes, backslashes and spaces where they are quoted", async () => {
    await using edge = await openEdge(publish());
    const { body } = await keyed<{ workflow_id: string }>(edge, submitPath, hint, { key: '"a \\"b\\" \\\\ c"' });
    const again = await edge.t.kernel.submit({ ...testCaller, ...hint, idempotency_key: 'a "b" \\ c' });
    expect(again.workflow_id).toBe(body.workflow_id);
  });

  it.each([
    '""',
    '"',
    '"a',
    'a"b',
    '"a"b',
    '"a", "b"',
    "a, b",
    "a b",
    "a;b",
    '"a";p=1',
    "a\\b",
    `"${"k".repeat(256)}"`,
  ])("that is none (%s) is refused with 400 on every command", async (key) => {
    await using edge = await openEdge(publish());
    const { workflow_id: id } = await edge.t.run(intent);
    const before = await edge.t.types(id);
    expect((await keyed(edge, submitPath, hint, { key })).status).toBe(400);
    for (const command of ["gate", "retry", "cancel", "withdraw", "delegate"])
      expect((await keyed(edge, pathOf(id, `/${command}`), {}, { key })).status).toBe(400);
    expect(await edge.t.types(id)).toEqual(before);
    expect(await edge.t.kernel.workflows()).toHaveLength(1);
  });

  it("and a key in the body must be the same", async () => {
    await using edge = await openEdge(publish());
    const body = { ...hint, idempotency_key: "k-2" };
    expect((await keyed(edge, submitPath, body, { key: "k-1" })).status).toBe(400);
    const first = await keyed(edge, submitPath, body, { key: "k-2" });
    const again = await edge.post(submitPath, body);
    expect([first.status, again.status]).toEqual([202, 202]);
    expect(again.body).toEqual(first.body);
  });
});

describe("after a restart", () => {
  const newPath = ledgerPaths();
  const restart = async (path: string) => {
    const one = await openEdge({ ...publish(), ledger: sqliteLedger({ path }) });
    return { one, two: () => openEdge({ ...publish(), seed: 2, ledger: sqliteLedger({ path }) }) };
  };

  it("[API-01] the same key gets the first answer, and another body 422; there is one workflow", async () => {
    const { one, two } = await restart(newPath());
    const first = await keyed<{ workflow_id: string }>(one, submitPath, hint);
    await one.t.rest(first.body.workflow_id);
    await one.t.kernel.stop();
    await using edge = await two();
    const again = await keyed(edge, submitPath, { ...hint, ...testCaller });
    expect([again.status, again.body]).toEqual([202, first.body]);
    expect(again.headers.get("location")).toBe(first.headers.get("location"));
    const other = await keyed(edge, submitPath, { ...hint, thread_id: 2 });
    expect([other.status, codeOf(other)]).toEqual([422, "T4_IDEMPOTENCY_PAYLOAD_MISMATCH"]);
    const rpc = { jsonrpc: "2.0", id: "1", method: "kernel/submit", params: { ...hint, idempotency_key: "k-1" } };
    expect((await edge.post("/rpc", rpc)).body).toMatchObject({ result: first.body });
    expect(await edge.t.kernel.workflows()).toHaveLength(1);
  });

  it("a gate decided and a workflow cancelled again change nothing, though their keys are forgotten", async () => {
    const { one, two } = await restart(newPath());
    const [decided, cancelled] = [await one.t.run(intent), await one.t.run(intent)].map((state) => state.workflow_id);
    const say = async (edge: EdgeUnderTest) => [
      await keyed(edge, pathOf(decided as string, "/gate"), { gate_id: "gate-publish", decision: "approve" }),
      await keyed(edge, pathOf(cancelled as string, "/cancel"), {}),
    ];
    const first = await say(one);
    await one.t.rest(decided as string);
    await one.t.kernel.stop();
    await using edge = await two();
    const before = await Promise.all([decided, cancelled].map((id) => edge.t.types(id as string)));
    const again = await say(edge);
    expect(again.map(({ status }) => status)).toEqual([200, 200]);
    expect(again.map(({ body }) => body["status"])).toEqual(first.map(({ body }) => body["status"]));
    expect(await Promise.all([decided, cancelled].map((id) => edge.t.types(id as string)))).toEqual(before);
  });

  it("[API-01] doing a workflow again under the same key begins one other, and not one more", async () => {
    const { one, two } = await restart(newPath());
    const { workflow_id: id } = await one.t.run(intent);
    await one.t.reject(id);
    await one.t.rest(id);
    const body = { mode: "regenerate" };
    const first = await keyed<{ workflow_id: string }>(one, pathOf(id, "/retry"), body);
    expect(first.status).toBe(200);
    await one.t.rest(first.body.workflow_id);
    await one.t.kernel.stop();
    await using edge = await two();
    const other = await keyed(edge, pathOf(id, "/retry"), { mode: "regenerate", step_ids: ["publish"] });
    expect([other.status, codeOf(other)]).toEqual([422, "T4_IDEMPOTENCY_PAYLOAD_MISMATCH"]);
    const again = await keyed(edge, pathOf(id, "/retry"), body);
    expect([again.status, again.body]).toEqual([200, first.body]);
    expect(await edge.t.kernel.workflows()).toHaveLength(2);
    // The key of a submit, and of another workflow's retry, is another.
    const submitted = await keyed<{ workflow_id: string }>(edge, submitPath, hint);
    await edge.t.rest(submitted.body.workflow_id);
    await edge.t.reject(submitted.body.workflow_id);
    await edge.t.rest(submitted.body.workflow_id);
    expect((await keyed(edge, pathOf(submitted.body.workflow_id, "/retry"), body)).status).toBe(200);
    expect(await edge.t.kernel.workflows()).toHaveLength(4);
  });

  it("a retry said again when it has succeeded starts nothing", async () => {
    const path = newPath();
    let isDown = true;
    const flaky = counted("Note.Flaky", { effect: "none" }, () => {
      if (isDown) throw new Error("not yet");
      return { text: "done" };
    });
    const open = (seed: number) =>
      openEdge({ seed, capabilities: [story([flaky], [step("one", flaky)])], ledger: sqliteLedger({ path }) });
    const one = await open(1);
    const { workflow_id: id, state } = await one.t.run(intent);
    expect(state).toBe("failed");
    isDown = false;
    const calls = flaky.calls.length;
    expect((await keyed(one, pathOf(id, "/retry"), {})).status).toBe(200);
    expect((await one.t.rest(id)).state).toBe("completed");
    await one.t.kernel.stop();
    await using edge = await open(2);
    expect((await keyed(edge, pathOf(id, "/retry"), {})).status).toBe(409);
    expect(flaky.calls).toHaveLength(calls + 1);
  });
});

describe("kept answers", () => {
  const question = (key: string) => ({ key, caller: testCaller, operation: "/o", body: {} });
  const answer = (n: number) => async () => ({ status: 200, body: { n } });

  it("of a request under way refuse the same one with 409, and forget it when the server fails", async () => {
    const answers = createAnswers(10);
    const under = held<{ status: number; body: object }>();
    const first = answers.once(question("a"), () => under.promise);
    expect((await refusalOf(answers.once(question("a"), answer(2)))).code).toBe("T0_HTTP_KEY_IN_FLIGHT");
    under.release({ status: 200, body: { n: 1 } });
    await first;
    expect((await answers.once(question("a"), answer(2))).body).toEqual({ n: 1 });
    const down = kernelError("T0_LEDGER_UNAVAILABLE", "down", moduleRef(0, "test", "down"));
    const fail = () => Promise.reject(new KernelErrorException(down));
    await expect(answers.once(question("b"), fail)).rejects.toThrow("down");
    expect((await answers.once(question("b"), answer(3))).body).toEqual({ n: 3 });
  });

  it("are no more than the limit; the oldest goes, but none that is under way", async () => {
    const answers = createAnswers(2);
    const under = held<{ status: number; body: object }>();
    const waiting = answers.once(question("a"), () => under.promise);
    for (const [i, key] of ["b", "c", "d"].entries()) await answers.once(question(key), answer(i));
    expect((await answers.once(question("d"), answer(9))).body).toEqual({ n: 2 });
    expect((await answers.once(question("b"), answer(9))).body).toEqual({ n: 9 });
    expect((await refusalOf(answers.once(question("a"), answer(9)))).code).toBe("T0_HTTP_KEY_IN_FLIGHT");
    under.release({ status: 200, body: {} });
    await waiting;
  });
});
