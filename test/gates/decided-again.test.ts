/**
 * A decision that is decided again, because another process's append came first, is about the gate that it met before.
 */
import { describe, expect, it } from "vitest";
import { definePolicy, digest } from "../../src/index.ts";
import { ledgerPaths, minute, openProcess } from "../recovery/shared-file.ts";
import { ann, bob, say } from "./people.ts";
import { counted, gateOf, held, payloads, refusalOf, step, story } from "./story.ts";

const nextPath = ledgerPaths();
const payload_digest = digest({ text: "same" });

/** Two gates, one after the other, that show the same payload. */
function sameTwice() {
  const send = counted("Note.Send", { effect: "write_draft" });
  const same = { gate: {}, params: { text: "same" } };
  return story([send], [step("s1", send, same), step("s2", send, { ...same, depends_on: ["s1"] })]);
}

/** Two processes, and a policy of the first that keeps one decision waiting until `finish`. */
async function openTwo(capability = sameTwice(), nr = 1) {
  const first = held<object>();
  const asked = { times: 0 };
  const evaluate = async () => {
    asked.times += 1;
    if (asked.times === nr) await first.promise;
    return null;
  };
  const slow = definePolicy({ name: "slow", stages: ["gate"], evaluate });
  const fast = definePolicy({ name: "slow", stages: ["gate"], evaluate: async () => null });
  const path = nextPath();
  const one = await openProcess(path, { capabilities: [capability], policies: [slow] });
  const other = await openProcess(path, { capabilities: [capability], policies: [fast] });
  return { one, other, asked, finish: () => first.release({}) };
}

type Two = Awaited<ReturnType<typeof openTwo>>;

/** Bob's approval through the other process takes the workflow on to the second gate, while the first process waits. */
async function overtake({ other }: Two, id: string): Promise<void> {
  await other.clock.advance(5 * minute);
  await say(other, id, bob, "approve", { payload_digest });
  await other.clock.settle();
  expect((await gateOf(other, id, "gate-s2")).status).toBe("open");
}

interface Late {
  readonly decision: "approve" | "reject";
  readonly payload: { readonly payload_digest?: string };
}

async function decideLate(two: Two, { decision, payload }: Late) {
  const { one, asked, finish } = two;
  const { workflow_id: id } = await one.run("Story.Note.Publish");
  const late = say(one, id, ann, decision, payload);
  const answer = late.then(
    ({ status }) => status,
    () => refusalOf(late).then(({ code }) => code),
  );
  await one.clock.settle();
  expect(asked.times).toBe(1);
  await overtake(two, id);
  finish();
  await one.clock.settle();
  return { id, answer: await answer };
}

describe("a decision that names no gate and is decided again after a lost append", () => {
  it.each([
    ["an approval by digest", "resumed", { decision: "approve", payload: { payload_digest } }],
    ["a rejection by digest", "T5_GATE_CONFLICT", { decision: "reject", payload: { payload_digest } }],
    ["an approval of the one open gate", "resumed", { decision: "approve", payload: {} }],
    ["a rejection of the one open gate", "T5_GATE_CONFLICT", { decision: "reject", payload: {} }],
  ] as const)("does not reach a gate that was opened while it waited: %s gets %s", async (_title, expected, late) => {
    const two = await openTwo();
    await using one = two.one;
    await using other = two.other;
    const { id, answer } = await decideLate(two, late);
    expect(answer).toBe(expected);
    expect((await gateOf(other, id, "gate-s2")).status).toBe("open");
    expect((await payloads(other, id, "USER_APPROVED")).map(({ gate_id }) => gate_id)).toEqual(["gate-s1"]);
    expect(await payloads(other, id, "USER_REJECTED")).toEqual([]);
    // A decision that is given now is about the gate that is open now.
    expect((await say(one, id, ann, "reject", { payload_digest })).status).toBe("rejected");
  });
});

describe("a rejection by digest of a call in doubt that is decided again after a lost append", () => {
  it("does not reach the gate that a new plan opened while it waited", async () => {
    const send = counted("Note.Send", { effect: "write_draft", timeoutSec: 1 }, () => new Promise(() => undefined));
    const rows = [step("s1", send, { gate: {}, params: { text: "same" } })];
    const two = await openTwo(story([send], rows), 2);
    await using one = two.one;
    await using other = two.other;
    const { workflow_id: id } = await one.run("Story.Note.Publish");
    await one.kernel.decideGate(id, { tenant_id: 1, principal: bob, gate_id: "gate-s1", decision: "approve" });
    expect((await one.rest(id)).state).toBe("waiting_for_user");
    expect((await gateOf(one, id, "gate-s1_doubt1")).payload_digest).toBe(payload_digest);
    const late = say(one, id, ann, "reject", { payload_digest });
    await one.clock.settle();
    expect(two.asked.times).toBe(2);
    await other.clock.advance(5 * minute);
    await say(other, id, bob, "reject", { payload_digest });
    await other.clock.settle();
    expect((await gateOf(other, id, "gate-s1_r1")).payload_digest).toBe(payload_digest);
    two.finish();
    await one.clock.settle();
    // The same word again gets the answer that is on record.
    expect((await late).status).toBe("rejected");
    expect((await gateOf(other, id, "gate-s1_r1")).status).toBe("open");
    expect((await payloads(other, id, "USER_REJECTED")).map(({ gate_id }) => gate_id)).toEqual(["gate-s1_doubt1"]);
  });
});
