/** Signed approvals: what is signed, what is refused, and what an offline check finds. */
import { CompactSign, exportJWK, generateKeyPair, UnsecuredJWT } from "jose";
import { describe, expect, it } from "vitest";
import {
  definePolicy,
  type Gate,
  type GateSpec,
  type LedgerEvent,
  type PublicJwk,
  signApproval,
  signingInput,
  verifySignatures,
} from "../../src/index.ts";
import { createTestKernel, type TestKernel } from "../../src/testing/index.ts";
import { letRun } from "../../src/testing/let-run.ts";
import { ann, approve, bob, gated, type Person, person, reject, waiting, withdraw } from "./people.ts";
import { counted, eventsOf, gateOf, held, intent, payloads, publishing, refusalOf, step, story } from "./story.ts";

async function newKey() {
  const { publicKey, privateKey } = await generateKeyPair("EdDSA", { crv: "Ed25519", extractable: true });
  return { secret: await exportJWK(privateKey), known: (await exportJWK(publicKey)) as PublicJwk };
}
const keys = { ann: await newKey(), bob: await newKey(), thief: await newKey() };
const approverKeys = ({ id }: { id: string | number }) => (id === "ann" || id === "bob" ? keys[id].known : null);

const sign = (gate: Gate, who: Person, more: { decision?: "approve" | "reject"; key?: object; nonce?: string } = {}) =>
  signApproval(gate, {
    principal: who,
    decision: more.decision ?? "approve",
    key: more.key ?? keys[who.id as "ann"].secret,
    ...(more.nonce === undefined ? {} : { nonce: more.nonce }),
  });

async function open(spec: Partial<GateSpec> = { signed: true, quorum: { approvals: 2, rejections: 2 } }) {
  const { capability, sent } = gated(spec);
  const t = await createTestKernel({ capabilities: [capability], approverKeys });
  const id = await waiting(t);
  const gate = () => gateOf(t, id, "gate-s1");
  return { t, id, gate, sent, [Symbol.asyncDispose]: () => t.kernel.stop({ drainMs: 0 }) };
}

async function refused(t: TestKernel, id: string, call: Promise<unknown>): Promise<string> {
  const [{ sequence: before }, { code }] = await Promise.all([t.kernel.workflow(id), refusalOf(call)]);
  expect((await t.kernel.workflow(id)).sequence).toBe(before);
  return code;
}

describe("a signed approval", () => {
  it("[GAT-02] is kept with the vote, with the public key that made it, and the workflow goes on", async () => {
    await using fixture = await open();
    const { t, id, gate, sent } = fixture;
    const jws = await sign(await gate(), ann);
    await approve(t, id, ann, { signature: jws });
    await approve(t, id, bob, { signature: await sign(await gate(), bob) });
    await t.rest(id);
    expect(sent()).toEqual(["s1"]);
    const [vote] = await payloads(t, id, "GATE_VOTED");
    expect(vote?.signature).toEqual({ jws, jwk: keys.ann.known, kid: null });
    expect(JSON.stringify(await eventsOf(t, id))).not.toContain(keys.ann.secret.d);
    expect((await t.kernel.verify(id)).ok).toBe(true);
  });

  it("of the one who decides alone is kept with the decision, whether the gate asks for it or not", async () => {
    for (const signed of [true, false]) {
      await using fixture = await open({ signed });
      const { t, id, gate } = fixture;
      const jws = await sign(await gate(), ann, { decision: "reject" });
      expect((await reject(t, id, ann, { signature: jws })).status).toBe("rejected");
      expect((await payloads(t, id, "USER_REJECTED"))[0]?.signature?.jws).toBe(jws);
      expect((await gate()).decision?.signature?.jwk).toEqual(keys.ann.known);
      expect((await t.kernel.verify(id, { keys: approverKeys })).ok).toBe(true);
    }
  });

  it("is over canonical JSON of what it binds to, and nothing else", async () => {
    await using fixture = await open();
    const gate = await fixture.gate();
    const text = signingInput(gate, { principal: ann, decision: "approve" });
    expect(JSON.parse(text)).toEqual({
      workflow_id: fixture.id,
      gate_id: "gate-s1",
      tenant_id: 1,
      principal: { type: "user", id: "ann" },
      decision: "approve",
      outcome_id: null,
      outcome_version: null,
      payload_digest: gate.payload_digest,
      policy_version: gate.policy_version,
    });
    expect(Object.keys(JSON.parse(text))).toEqual(Object.keys(JSON.parse(text)).sort());
  });

  it("is asked for where the gate says so", async () => {
    await using fixture = await open();
    expect(await refused(fixture.t, fixture.id, approve(fixture.t, fixture.id, ann))).toBe("T5_SIGNATURE_REQUIRED");
  });

  it("of what a gate shows now is no word on what its giver names as shown", async () => {
    const { capability } = publishing({ gate: { signed: true } });
    await using t = await createTestKernel({ capabilities: [capability], approverKeys });
    const id = await waiting(t);
    const { payload_digest } = await gateOf(t, id);
    await approve(t, id, bob, { edit: { text: "edited" } });
    const signature = await sign(await gateOf(t, id), ann);
    expect(await refused(t, id, approve(t, id, ann, { payload_digest, signature }))).toBe("T5_GATE_CONFLICT");
    expect((await approve(t, id, ann, { signature })).status).toBe("resumed");
  });

  it("an edit makes a version that is then to be signed", async () => {
    const { capability, publish } = publishing({ gate: { signed: true } });
    await using t = await createTestKernel({ capabilities: [capability], approverKeys });
    const id = await waiting(t);
    const old = await sign(await gateOf(t, id), ann);
    const edit = { text: "edited" };
    expect(await refused(t, id, approve(t, id, ann, { edit, signature: old }))).toBe("T5_SIGNATURE_INVALID");
    expect((await approve(t, id, ann, { edit })).status).toBe("revised");
    expect(await refused(t, id, approve(t, id, ann, { signature: old }))).toBe("T5_SIGNATURE_INVALID");
    await approve(t, id, ann, { signature: await sign(await gateOf(t, id), ann) });
    await t.rest(id);
    expect(publish.calls.map((c) => c.input)).toEqual([{ text: "edited", to: "board" }]);
  });
});

type Forge = (fixture: Awaited<ReturnType<typeof open>>) => Promise<string>;
const forgeries: readonly (readonly [string, Forge])[] = [
  ["another approver's key", async ({ gate }) => sign(await gate(), ann, { key: keys.bob.secret })],
  ["a key that nobody knows", async ({ gate }) => sign(await gate(), ann, { key: keys.thief.secret })],
  ["another approver's signature", async ({ gate }) => sign(await gate(), bob)],
  ["another decision", async ({ gate }) => sign(await gate(), ann, { decision: "reject" })],
  ["another gate", async ({ gate }) => sign({ ...(await gate()), gate_id: "gate-s2" }, ann)],
  ["another tenant", async ({ gate }) => sign({ ...(await gate()), tenant_id: 2 }, ann)],
  ["another payload", async ({ gate }) => sign({ ...(await gate()), payload_digest: "0".repeat(64) }, ann)],
  ["another policy", async ({ gate }) => sign({ ...(await gate()), policy_version: "0" }, ann)],
  ["another workflow's gate", async ({ t }) => sign(await gateOf(t, await waiting(t), "gate-s1"), ann)],
  [
    "no algorithm",
    async ({ gate }) => {
      const claims = JSON.parse(signingInput(await gate(), { principal: ann, decision: "approve" }));
      return new UnsecuredJWT(claims).encode();
    },
  ],
  [
    "an algorithm with the public key as its secret",
    async ({ gate }) => {
      const text = new TextEncoder().encode(signingInput(await gate(), { principal: ann, decision: "approve" }));
      const secret = new TextEncoder().encode(keys.ann.known.x);
      return new CompactSign(text).setProtectedHeader({ alg: "HS256" }).sign(secret);
    },
  ],
  ["no signature at all", async () => "not.a.jws"],
];

describe("a forged, transplanted or replayed signature", () => {
  it.each(forgeries)("is refused, and nothing is applied: %s", async (_title, forge) => {
    await using fixture = await open();
    const { t, id } = fixture;
    expect(await refused(t, id, approve(t, id, ann, { signature: await forge(fixture) }))).toBe("T5_SIGNATURE_INVALID");
    expect((await fixture.gate()).votes).toEqual([]);
  });

  it.each([true, false])(
    "given twice at once cannot vote again once it was taken back (asked for: %j)",
    async (signed) => {
      const waits: (() => void)[] = [];
      const slow = definePolicy({
        name: "slow",
        stages: ["gate"],
        evaluate: () => new Promise((resolve) => waits.push(() => resolve({ decision: "ALLOW", reason: "" }))),
      });
      const { capability } = gated({ signed, quorum: { approvals: 2 } });
      await using t = await createTestKernel({ capabilities: [capability], approverKeys, policies: [slow] });
      const id = await waiting(t);
      const signature = await sign(await gateOf(t, id, "gate-s1"), ann);
      // Signatures are verified on other threads, so that either of the two may reach the policy first.
      const votes = [approve(t, id, ann, { signature }), approve(t, id, ann, { signature })];
      const ends = Promise.allSettled(votes);
      while (waits.length < 2) await letRun();
      waits[0]?.();
      expect((await Promise.race(votes)).status).toBe("voted");
      await withdraw(t, id, ann);
      waits[1]?.();
      const rejected = (await ends).filter((end) => end.status === "rejected");
      expect(rejected.map((end) => end.reason.error.code)).toEqual(["T5_GATE_CONFLICT"]);
      expect((await gateOf(t, id, "gate-s1")).votes).toEqual([]);
      expect((await t.kernel.replay(id)).difference).toBe(null);
    },
  );

  it("cannot vote again what was taken back; a newly made one can", async () => {
    await using fixture = await open();
    const { t, id, gate } = fixture;
    const signature = await sign(await gate(), ann);
    await approve(t, id, ann, { signature });
    await withdraw(t, id, ann);
    expect(await refused(t, id, approve(t, id, ann, { signature }))).toBe("T5_SIGNATURE_INVALID");
    const [head, claims, seal] = signature.split(".") as [string, string, string];
    const rewritten = `${head}.${claims}.${seal.slice(0, -1)}${seal.endsWith("A") ? "B" : "A"}`;
    expect(await refused(t, id, approve(t, id, ann, { signature: rewritten }))).toBe("T5_SIGNATURE_INVALID");
    const again = await sign(await gate(), ann, { nonce: "2" });
    expect((await approve(t, id, ann, { signature: again })).tally?.approvals).toBe(1);
    expect((await t.kernel.verify(id)).ok).toBe(true);
  });

  it("cannot decide alone a second time at a gate that was opened again with the signed payload", async () => {
    const world = { hangs: "nothing" };
    const preview = () => ({ preview: "a note", diff: null, basis: [{ name: "board", digest: world.hangs }] });
    const publish = counted("Note.Publish", { effect: "final_write", preview });
    const busy = held<object>();
    const slow = counted("Note.Slow", { timeoutSec: 864_000 }, () => busy.promise);
    const plan = [step("publish", publish, { gate: { signed: true } }), step("slow", slow)];
    const limits = { maxConcurrentSteps: 1 };
    await using t = await createTestKernel({ capabilities: [story([publish, slow], plan)], approverKeys, limits });
    const id = await t.submit(intent);
    await t.clock.settle();
    const first = await gateOf(t, id);
    const { payload_digest, basis_digest = "" } = first;
    const say = (signature: string) => approve(t, id, ann, { payload_digest, basis_digest, signature });
    const signature = await sign(first, ann);
    await say(signature);
    world.hangs = "a poster";
    busy.release({});
    expect((await t.rest(id)).state).toBe("waiting_for_user");
    world.hangs = "nothing";
    const { basis_digest: between = "" } = await gateOf(t, id);
    await refusalOf(approve(t, id, ann, { payload_digest, basis_digest: between }));
    expect(await gateOf(t, id)).toMatchObject({ status: "open", basis_digest });
    expect(await refused(t, id, say(signature))).toBe("T5_SIGNATURE_INVALID");
    expect(publish.calls).toEqual([]);
    await say(await sign(await gateOf(t, id), ann, { nonce: "2" }));
    expect((await t.rest(id)).state).toBe("completed");
    expect((await t.kernel.verify(id)).ok).toBe(true);
  });

  it("is refused where no keys are known, and where they cannot be had", async () => {
    const throwing = () => {
      throw new Error("the directory is down");
    };
    for (const more of [{}, { approverKeys: throwing }]) {
      await using t = await createTestKernel({ capabilities: [gated({}).capability], ...more });
      const id = await waiting(t);
      const signature = await sign(await gateOf(t, id, "gate-s1"), ann);
      expect(await refused(t, id, approve(t, id, ann, { signature }))).toBe("T5_SIGNATURE_INVALID");
    }
  });
});

describe("checked offline", () => {
  async function signedStory() {
    const fixture = await open();
    const { t, id, gate } = fixture;
    for (const who of [ann, bob]) await approve(t, id, who, { signature: await sign(await gate(), who) });
    await t.rest(id);
    return { ...fixture, events: await eventsOf(t, id) };
  }

  it("is good from the events alone, and with the approvers' keys", async () => {
    await using story = await signedStory();
    expect(await verifySignatures(story.events)).toEqual([]);
    expect(await verifySignatures(story.events, { keys: approverKeys })).toEqual([]);
  });

  it.each([
    ["decision", "reject"],
    ["payload_digest", "1".repeat(64)],
    ["policy_version", "2"],
    ["outcome_version", 7],
    ["gate_id", "gate-s9"],
    ["principal", { ...bob }],
    ["signature", null],
  ] as const)("names the entry whose %s was changed", async (field, value) => {
    await using story = await signedStory();
    const at = story.events.findIndex((e) => e.event_type === "GATE_VOTED");
    const changed = story.events.map((e, i) => (i === at ? { ...e, payload: { ...e.payload, [field]: value } } : e));
    expect(await verifySignatures(changed)).toContainEqual({
      stream: story.id,
      sequence: story.events[at]?.sequence,
      reason: "signature",
    });
  });

  it("finds a signature used twice, and a key that is not the approver's", async () => {
    await using story = await signedStory();
    const votes = story.events.filter((e) => e.event_type === "GATE_VOTED");
    const [first] = votes as [LedgerEvent];
    expect(await verifySignatures(story.events.toSpliced(story.events.indexOf(first), 0, first))).toHaveLength(1);
    const swapped = { keys: () => keys.thief.known };
    expect(await verifySignatures(story.events, swapped)).toHaveLength(2);
    expect(await story.t.kernel.verify(undefined, swapped)).toMatchObject({
      ok: false,
      broken: votes.map((e) => ({ stream: story.id, sequence: e.sequence, reason: "signature" })),
    });
  });

  const altered = (events: readonly LedgerEvent[], type: string, more: object) =>
    events.map((e) => (e.event_type === type ? { ...e, payload: { ...e.payload, ...more } } : e));

  it.each([
    ["no vote at all", { drop: ["GATE_VOTED"], more: {} }],
    ["no one it names", { drop: ["GATE_VOTED"], more: { carried_by: [] } }],
    ["too few", { drop: [], more: { carried_by: [{ principal: { type: "user", id: "ann" } }] } }],
    [
      "somebody who has not voted",
      { drop: [], more: { carried_by: [ann, person("eve")].map((p) => ({ principal: p })) } },
    ],
    ["nobody's name", { drop: [], more: { principal: null, carried_by: undefined } }],
    ["what cannot be read", { drop: [], more: { carried_by: 7 } }],
  ])("names a decision that is carried by %s", async (_title, { drop, more }: { drop: string[]; more: object }) => {
    await using story = await signedStory();
    const left = altered(story.events, "USER_APPROVED", more).filter((e) => !drop.includes(e.event_type));
    const sequence = story.events.find((e) => e.event_type === "USER_APPROVED")?.sequence;
    expect(await verifySignatures(left)).toEqual([{ stream: story.id, sequence, reason: "signature" }]);
  });

  it("counts no vote that was taken back, or given before a revision", async () => {
    await using story = await signedStory();
    const at = story.events.findIndex((e) => e.event_type === "USER_APPROVED");
    const [decided] = story.events.slice(at);
    const insert = (event_type: string, payload: object) =>
      story.events.toSpliced(at, 0, { ...decided, event_type, payload } as LedgerEvent);
    const gate = await story.gate();
    for (const events of [
      insert("GATE_VOTE_WITHDRAWN", { gate_id: "gate-s1", principal: { type: "user", id: "ann" } }),
      insert("GATE_REVISED", { gate: { ...gate, signed: false } }),
    ])
      expect((await verifySignatures(events)).map((b) => b.sequence)).toEqual([decided?.sequence]);
  });

  it("says nothing of a workflow that nobody signed in", async () => {
    await using t = await createTestKernel({ capabilities: [gated({}).capability] });
    const id = await waiting(t);
    await approve(t, id, ann);
    await t.run(intent);
    expect(await verifySignatures(await eventsOf(t, id))).toEqual([]);
  });
});
