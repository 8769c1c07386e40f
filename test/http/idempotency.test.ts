/** Idempotency-Key: the same request again gets the first answer, and is done once. */
import { describe, expect, it } from "vitest";
import { kernelError } from "../../src/contract/error-codes.ts";
import { createAnswers } from "../../src/http/remember-answers.ts";
import { KernelErrorException, moduleRef } from "../../src/index.ts";
import { testCaller } from "../../src/testing/index.ts";
import { held, intent, publishing, refusalOf } from "../gates/story.ts";
import { codeOf, type EdgeUnderTest, openEdge, pathOf, submitPath } from "./edge-fixture.ts";

const hint = { intent_hint: { intent_type: intent, inputs: {} } };
const publish = () => ({ capabilities: [publishing().capability] });
const keyed = (edge: EdgeUnderTest, path: string, body: object, more: { key?: string; as?: string } = {}) =>
  edge.ask(path, { body, as: more.as ?? "own", headers: { "idempotency-key": more.key ?? "k-1" } });

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
    const ids = (await edge.t.kernel.workflows()).map((one) => one.workflow_id);
    expect(ids).toHaveLength(3);
    for (const id of ids) await edge.t.rest(id);
    for (const id of ids.slice(0, 2)) {
      const gate = await keyed(edge, pathOf(id, "/gate"), { decision: "reject" });
      expect(gate).toMatchObject({ status: 200, body: { workflow_id: id, status: "rejected" } });
      expect((await keyed(edge, pathOf(id, "/gate"), { decision: "reject" })).body).toEqual(gate.body);
      expect((await keyed(edge, pathOf(id, "/gate"), { decision: "approve" })).status).toBe(422);
    }
  });

  it("of a request that was refused is asked anew, with what mends it", async () => {
    await using edge = await openEdge({ ...publish(), limits: { maxInFlight: 1 } });
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
