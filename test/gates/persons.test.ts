/**
 * Separation counts people: over the whole lineage of a request, and under all the names that a host says are theirs.
 */
import { describe, expect, it } from "vitest";
import { kernelError } from "../../src/contract/error-codes.ts";
import { KernelErrorException, moduleRef, type SamePerson } from "../../src/index.ts";
import { createTestKernel, type TestKernel } from "../../src/testing/index.ts";
import {
  ann,
  approve,
  bob,
  cat,
  dan,
  gated,
  lend,
  type Person,
  person,
  reject,
  requester,
  waiting,
  withdraw,
} from "./people.ts";
import { asShown, gateOf, intent, payloads, publishing, refusalOf, steps } from "./story.ts";

const tenant_id = 1;
const later = (t: TestKernel) => new Date(t.clock.now() + 60_000).toISOString();
const regenerate = (t: TestKernel, id: string, principal: Person) =>
  t.kernel.retry(id, { tenant_id, principal, mode: "regenerate" });
const apart = { gate: { separation: true } };

async function expectBarred(t: TestKernel, id: string, people: readonly Person[], gateId = "gate-publish") {
  for (const who of people) {
    const vote = approve(t, id, who, await asShown(t, id, gateId));
    expect([who.id, (await refusalOf(vote)).code]).toEqual([who.id, "T5_AUTHZ_FORBIDDEN"]);
  }
  expect((await gateOf(t, id, gateId)).status).toBe("open");
}

describe("who has asked for what a gate shows", () => {
  it("[GAT-07] is who submitted and who regenerated it where it waits: neither decides on it", async () => {
    const { capability, publish } = publishing(apart);
    await using t = await createTestKernel({ capabilities: [capability] });
    const id = await waiting(t);
    await regenerate(t, id, ann);
    await t.rest(id);
    await expectBarred(t, id, [requester, ann]);
    expect((await gateOf(t, id)).requesters).toEqual([
      { type: "user", id: 1 },
      { type: "user", id: "ann" },
    ]);
    await approve(t, id, bob, await asShown(t, id));
    expect((await t.rest(id)).state).toBe("completed");
    expect(publish.calls).toHaveLength(1);
  });

  it("[GAT-07] goes with the work into linked workflows, however many hands it passes through", async () => {
    const { capability } = publishing(apart);
    await using t = await createTestKernel({ capabilities: [capability] });
    let id = await waiting(t);
    for (const [approver, next] of [
      [dan, ann],
      [dan, bob],
      [dan, cat],
    ] as const) {
      await approve(t, id, approver, await asShown(t, id));
      expect((await t.rest(id)).state).toBe("completed");
      ({ workflow_id: id } = await regenerate(t, id, next));
      expect((await t.rest(id)).state).toBe("waiting_for_user");
    }
    await expectBarred(t, id, [requester, ann, bob, cat]);
    expect((await approve(t, id, dan, await asShown(t, id))).status).toBe("resumed");
  });

  it("[GAT-07] is who edited it: an edit is approved by somebody else, and is the editor's no vote", async () => {
    const { capability, publish } = publishing(apart);
    await using t = await createTestKernel({ capabilities: [capability] });
    const id = await waiting(t);
    const edit = { ...(await asShown(t, id)), edit: { text: "mine" } };
    expect((await approve(t, id, ann, edit)).status).toBe("revised");
    expect((await approve(t, id, ann, edit)).status).toBe("revised");
    await expectBarred(t, id, [requester, ann]);
    expect(publish.calls).toEqual([]);
    await approve(t, id, bob, await asShown(t, id));
    await t.rest(id);
    expect(publish.calls.map((call) => call.input)).toEqual([{ text: "mine", to: "board" }]);
  });

  it("[GAT-07] has no seat left to vote on, nor one that was lent: the others decide as so many", async () => {
    const board = {
      separation: true,
      approvers: [{ id: "ann" }, { id: "bob" }, { id: "cat" }],
      quorum: { approvals: 2 },
    };
    const { capability } = publishing({ gate: board });
    await using t = await createTestKernel({ capabilities: [capability] });
    const id = await waiting(t);
    await lend(t, id, [ann, dan], later(t));
    expect((await gateOf(t, id)).quorum).toEqual({ approvals: 2, rejections: 2 });
    await approve(t, id, ann, { ...(await asShown(t, id)), edit: { text: "mine" } });
    expect((await gateOf(t, id)).quorum).toEqual({ approvals: 2, rejections: 1 });
    await expectBarred(t, id, [ann, dan]);
    const refused = approve(t, id, bob, { ...(await asShown(t, id)), edit: { text: "ours" } });
    expect(await refusalOf(refused)).toMatchObject({ code: "T5_GATE_CONFLICT" });
    for (const who of [bob, cat]) await approve(t, id, who, await asShown(t, id));
    expect((await t.rest(id)).state).toBe("completed");
  });

  it("is told with the gate, and a ledger without it still knows who submitted", async () => {
    const { capability } = publishing(apart);
    await using t = await createTestKernel({ capabilities: [capability] });
    const id = await waiting(t);
    expect((await payloads(t, id, "GATE_OPENED"))[0]?.gate.requesters).toBeUndefined();
    expect((await gateOf(t, id)).requesters).toEqual([{ type: "user", id: 1 }]);
  });
});

/** The host's word: what comes behind the type and before a dot is the person. */
const samePerson: SamePerson = (a, b) => String(a.id).split(".")[0] === String(b.id).split(".")[0];
const as = (type: string, id: string): Person => ({ type, id, role: "user" });
const [robot, twin] = [as("service", "ann"), as("service", "bob.2")];
const typed = (...people: readonly Person[]) => people.map(({ type, id }) => ({ type, id }));

describe("one person under two names", () => {
  it("[GAT-07] does not decide as the one on what they asked for as the other", async () => {
    const { capability } = gated({ separation: true });
    await using t = await createTestKernel({ capabilities: [capability], samePerson });
    const { workflow_id: id } = await t.run(intent, {}, { principal: ann });
    await expectBarred(t, id, [ann, robot], "gate-s1");
    expect((await approve(t, id, bob)).status).toBe("resumed");
  });

  it("[GAT-07] has one vote, which either name may take back", async () => {
    const { capability, sent } = gated({ quorum: { approvals: 2, rejections: 2 } });
    await using t = await createTestKernel({ capabilities: [capability], samePerson });
    const id = await waiting(t);
    await approve(t, id, ann);
    expect(await approve(t, id, robot)).toMatchObject({ status: "voted", tally: { approvals: 1 } });
    expect((await refusalOf(reject(t, id, robot))).code).toBe("T5_GATE_CONFLICT");
    expect(await steps(t, id, ["GATE_VOTED"])).toHaveLength(1);
    expect((await withdraw(t, id, robot)).tally?.approvals).toBe(0);
    await approve(t, id, robot);
    await approve(t, id, bob);
    await t.rest(id);
    expect(sent()).toEqual(["s1"]);
    expect((await payloads(t, id, "GATE_VOTED")).map((vote) => vote.apart_from)).toEqual([
      [],
      [],
      [{ type: "service", id: "ann" }],
    ]);
  });

  it("[GAT-07] has one vote also where both names come at once, and where decisions were kept", async () => {
    const { capability } = gated({ quorum: { approvals: 2 } });
    await using t = await createTestKernel({ capabilities: [capability], samePerson });
    const id = await waiting(t);
    await Promise.allSettled([ann, robot, as("bot", "ann.3")].map((who) => approve(t, id, who)));
    await t.clock.settle();
    expect(await steps(t, id, ["GATE_VOTED", "USER_APPROVED"])).toEqual(["GATE_VOTED:s1"]);
  });

  it("[GAT-07] lends no seat to their other name or to a requester, and has no second vote by delegation", async () => {
    const people = [ann, robot, bob, cat];
    const { capability } = gated({ approvers: typed(...people), quorum: { approvals: 2 }, separation: true });
    await using t = await createTestKernel({ capabilities: [capability], samePerson });
    const { workflow_id: id } = await t.run(intent, {}, { principal: dan });
    for (const to of [robot, as("bot", "ann.3"), as("service", "dan"), twin])
      expect((await refusalOf(lend(t, id, [ann, to], later(t)))).code).toBe("T5_DELEGATION_REFUSED");
    await lend(t, id, [ann, person("eve")], later(t));
    await approve(t, id, robot);
    expect((await refusalOf(approve(t, id, person("eve")))).code).toBe("T5_AUTHZ_FORBIDDEN");
    expect((await gateOf(t, id, "gate-s1")).votes).toHaveLength(1);
    expect((await approve(t, id, bob)).status).toBe("resumed");
  });

  it("[GAT-07] is one seat of a board: one that could then decide nothing is refused with the plan", async () => {
    const { capability } = gated({ approvers: typed(ann, robot), quorum: { approvals: 2 } });
    await using t = await createTestKernel({ capabilities: [capability], samePerson });
    expect(await t.run(intent)).toMatchObject({ state: "failed", error: { code: "T3_PLAN_INVALID" } });
  });

  it("gets no seat by it: who is named is who may decide", async () => {
    const { capability } = gated({ approvers: typed(ann) });
    await using t = await createTestKernel({ capabilities: [capability], samePerson });
    const id = await waiting(t);
    expect((await refusalOf(approve(t, id, robot))).code).toBe("T5_AUTHZ_FORBIDDEN");
    expect((await approve(t, id, ann)).status).toBe("resumed");
  });
});

describe("a host that cannot say who is who", () => {
  const thrown = new KernelErrorException(kernelError("T4_PARAMS_INVALID", "no", moduleRef(5, "test", "host")));
  it.each<readonly [string, () => unknown]>([
    ["throws", () => expect.fail("the directory is down")],
    [
      "throws an error of ours",
      () => {
        throw thrown;
      },
    ],
    ["answers later", () => Promise.resolve(false)],
    ["never answers", () => new Promise(() => undefined)],
    ["answers nothing", () => undefined],
    ["answers a text", () => "no"],
  ])("[GAT-07] %s: nothing is decided, with a code, and the gate stays open", async (_what, answer) => {
    const { capability, sent } = gated({ separation: true, quorum: { approvals: 2 } });
    await using t = await createTestKernel({ capabilities: [capability], samePerson: answer as SamePerson });
    const id = await waiting(t);
    expect((await refusalOf(approve(t, id, ann))).code).toBe("T5_PERSON_UNDECIDED");
    expect((await gateOf(t, id, "gate-s1")).status).toBe("open");
    expect(sent()).toEqual([]);
  });

  it("and an option that is no function are refused", async () => {
    const wrong = createTestKernel({ samePerson: "everybody" as never });
    expect((await refusalOf(wrong)).code).toBe("T0_VALIDATION_SCHEMA_MISMATCH");
  });
});

it("[GAT-07] a gate whose approvers turn out to be one person rests, and can still be rejected", async () => {
  const two = [ann, bob].map(({ type, id }) => ({ type, id }));
  const { capability } = publishing({ gate: { quorum: { approvals: 2 }, approvers: two } });
  let isOne = false;
  const inDirectory: SamePerson = (a, b) => a.id === b.id || (isOne && [a.id, b.id].sort().join() === "ann,bob");
  await using t = await createTestKernel({ capabilities: [capability], samePerson: inDirectory });
  const id = await waiting(t);
  isOne = true;
  await regenerate(t, id, dan);
  await t.rest(id);
  expect((await gateOf(t, id)).quorum).toEqual({ approvals: 2, rejections: 1 });
  await reject(t, id, bob, await asShown(t, id));
  expect((await t.rest(id)).state).toBe("cancelled");
});

it("a gate that people decided under several names replays to the same bytes", async () => {
  const board = { separation: true, quorum: { approvals: 2, rejections: 2 } };
  const { capability } = publishing({ gate: board });
  await using t = await createTestKernel({ capabilities: [capability], samePerson });
  const id = await waiting(t);
  await regenerate(t, id, ann);
  await t.rest(id);
  await approve(t, id, bob, { ...(await asShown(t, id)), edit: { text: "mine" } });
  await approve(t, id, cat, await asShown(t, id));
  await withdraw(t, id, as("service", "cat"));
  for (const who of [as("service", "cat"), dan]) await approve(t, id, who, await asShown(t, id));
  expect((await t.rest(id)).state).toBe("completed");
  expect(await t.kernel.replay(id)).toMatchObject({ identical: true });
});
