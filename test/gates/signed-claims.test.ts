/** What a signature covers beside the payload: the result that a person gives, and where they have it applied. */
import { CompactSign, decodeProtectedHeader, exportJWK, generateKeyPair, importJWK } from "jose";
import { describe, expect, it } from "vitest";
import { canonicalJson } from "../../src/contract/digest.ts";
import {
  type ApprovalSigning,
  type LedgerEvent,
  signApproval,
  signingInput,
  verifySignatures,
} from "../../src/index.ts";
import { createTestKernel, type TestKernel, testCaller } from "../../src/testing/index.ts";
import { ann, approve, bob, cat, gated, type Person, person, reject, waiting } from "./people.ts";
import { counted, eventsOf, gateOf, intent, payloads, publishing, refusalOf, step, story } from "./story.ts";

const { publicKey, privateKey } = await generateKeyPair("EdDSA", { crv: "Ed25519", extractable: true });
const [known, key] = [await exportJWK(publicKey), await exportJWK(privateKey)];
const approverKeys = () => known;
const doubt = "gate-send_doubt1";
const coach = person("coach", "support");

type GivenDecision = Pick<ApprovalSigning, "resolution" | "result" | "apply_targets"> & {
  decision?: "approve" | "reject";
};

async function sign(t: TestKernel, id: string, at: string, who: Person, said: GivenDecision = {}): Promise<string> {
  return signApproval(await gateOf(t, id, at), { principal: who, decision: "approve", key, ...said });
}

/** As a release before `claims: 2` signed, and recorded, what it was told. */
async function signEarlier(t: TestKernel, id: string, at: string, said: GivenDecision = {}): Promise<string> {
  const claims = JSON.parse(signingInput(await gateOf(t, id, at), { principal: ann, decision: "approve", ...said }));
  for (const name of ["result_digest", "apply_targets_digest"]) delete claims[name];
  const text = new TextEncoder().encode(canonicalJson(claims));
  return new CompactSign(text).setProtectedHeader({ alg: "EdDSA" }).sign(await importJWK(key, "EdDSA"));
}

/** A call that was approved with a signature and whose end nobody knows. */
async function lost() {
  const send = counted("Note.Send", { effect: "write_draft", timeoutSec: 1 }, () =>
    send.calls.length === 1 ? new Promise(() => undefined) : { sent: send.calls.length },
  );
  const tell = counted("Note.Tell");
  const rows = [
    step("send", send, { gate: { signed: true, advisors: ["support"] }, params: { text: "a" } }),
    step("tell", tell, { depends_on: ["send"], params: { heard: "{{send.output}}" } }),
  ];
  const t = await createTestKernel({ capabilities: [story([send, tell], rows)], approverKeys });
  const id = await t.submit(intent);
  await t.rest(id);
  await approve(t, id, ann, { signature: await sign(t, id, "gate-send", ann) });
  await t.clock.advance(2_000);
  await t.rest(id);
  return { t, id, send, tell, [Symbol.asyncDispose]: () => t.kernel.stop({ drainMs: 0 }) };
}

const changed = (events: readonly LedgerEvent[], type: string, more: object) =>
  events.map((e) => (e.event_type === type ? { ...e, payload: { ...e.payload, ...more } } : e)) as LedgerEvent[];

const without = (events: readonly LedgerEvent[], type: string, name: string) =>
  events.map((e) => {
    if (e.event_type !== type || (e.payload as Record<string, unknown>)["resolution"] === null) return e;
    const { [name]: _, ...payload } = e.payload as Record<string, unknown>;
    return { ...e, payload } as LedgerEvent;
  });

const badIn = async (events: readonly LedgerEvent[]) => {
  const broken = await verifySignatures(events, { keys: approverKeys });
  return broken.map(({ sequence }) => events.find((e) => e.sequence === sequence)?.event_type);
};

describe("a signed word on a call in doubt", () => {
  it("[GAT-02] covers the result that becomes the step's: another one is refused", async () => {
    await using fixture = await lost();
    const { t, id, tell } = fixture;
    const result = { sent: "by hand" };
    const signature = await sign(t, id, doubt, ann, { resolution: "done", result });
    for (const other of [{ sent: "by Eve" }, null, undefined]) {
      const said = { resolution: "done", signature, ...(other === undefined ? {} : { result: other }) } as const;
      expect((await refusalOf(approve(t, id, ann, said))).code).toBe("T5_SIGNATURE_INVALID");
    }
    expect((await approve(t, id, ann, { resolution: "done", result, signature })).status).toBe("resumed");
    expect((await t.rest(id)).state).toBe("completed");
    expect(tell.calls.map((c) => c.input)).toEqual([{ heard: result }]);
    expect((await t.kernel.verify(id, { keys: approverKeys })).ok).toBe(true);
    expect(await t.kernel.replay(id)).toMatchObject({ identical: true });
  });

  it("names a result that nobody gave too: none can be added", async () => {
    await using fixture = await lost();
    const { t, id } = fixture;
    const gate = await gateOf(t, id, doubt);
    const plain = { principal: ann, decision: "approve", resolution: "done" } as const;
    expect(signingInput(gate, plain)).toBe(signingInput(gate, { ...plain, result: null }));
    expect(Object.keys(JSON.parse(signingInput(gate, plain)))).toContain("result_digest");
    expect(Object.keys(JSON.parse(signingInput(gate, { ...plain, resolution: "retry" })))).not.toContain(
      "result_digest",
    );
    const earlier = await signEarlier(t, id, doubt, { resolution: "done" });
    const said = { resolution: "done", signature: earlier } as const;
    expect((await refusalOf(approve(t, id, ann, said))).code).toBe("T5_SIGNATURE_INVALID");
    await approve(t, id, ann, { ...said, signature: await sign(t, id, doubt, ann, { resolution: "done" }) });
    await t.rest(id);
    const events = await eventsOf(t, id);
    expect(await badIn(events)).toEqual([]);
    expect(await badIn(changed(events, "ACTION_SETTLED", { result: "forged" }))).toEqual(["ACTION_SETTLED"]);
  });

  it("shows offline a result, an answer and a settlement that were not signed", async () => {
    await using fixture = await lost();
    const { t, id } = fixture;
    const said = { resolution: "done", result: 7 } as const;
    await approve(t, id, ann, { ...said, signature: await sign(t, id, doubt, ann, said) });
    await t.rest(id);
    const events = await eventsOf(t, id);
    expect(await badIn(events)).toEqual([]);
    const settled = events.find((e) => e.event_type === "ACTION_SETTLED") as LedgerEvent;
    const { result_digest } = (await payloads(t, id, "USER_APPROVED")).at(-1) ?? {};
    expect(result_digest).toMatch(/^[0-9a-f]{64}$/);
    expect(await badIn(changed(events, "ACTION_SETTLED", { result: 8 }))).toEqual(["ACTION_SETTLED"]);
    expect(await badIn(changed(events, "ACTION_SETTLED", { resolution: "failed" }))).toEqual(["ACTION_SETTLED"]);
    const twice = { ...settled, sequence: settled.sequence + 0.5 };
    expect(await verifySignatures(events.toSpliced(events.indexOf(settled) + 1, 0, twice))).toHaveLength(1);
    const stripped = without(changed(events, "ACTION_SETTLED", { result: 8 }), "USER_APPROVED", "result_digest");
    expect(await badIn(stripped)).toContain("USER_APPROVED");
  });

  it("[GAT-02] is missed offline where the call was settled and nobody decided", async () => {
    await using fixture = await lost();
    const { t, id } = fixture;
    await approve(t, id, ann, {
      resolution: "done",
      signature: await sign(t, id, doubt, ann, { resolution: "done" }),
    });
    await t.rest(id);
    const events = await eventsOf(t, id);
    const isOnDoubt = ({ event_type, payload }: LedgerEvent) =>
      event_type === "USER_APPROVED" && payload["resolution"] !== null;
    expect(await badIn(events)).toEqual([]);
    expect(await badIn(events.filter((event) => !isOnDoubt(event)))).toEqual(["ACTION_SETTLED"]);
  });

  it("of an earlier release holds still: it never said with which result, and says so by what it lacks", async () => {
    await using fixture = await lost();
    const { t, id } = fixture;
    const said = { resolution: "done", result: 7 } as const;
    const jws = await signEarlier(t, id, doubt, said);
    await approve(t, id, ann, { ...said, signature: await sign(t, id, doubt, ann, said) });
    await t.rest(id);
    const old = without(await eventsOf(t, id), "USER_APPROVED", "result_digest").map((e) =>
      e.event_type === "USER_APPROVED" && e.payload["resolution"] === "done"
        ? ({ ...e, payload: { ...e.payload, signature: { jws, jwk: known, kid: null } } } as LedgerEvent)
        : e,
    );
    expect(await badIn(old)).toEqual([]);
    expect(await badIn(changed(old, "ACTION_SETTLED", { resolution: "retry" }))).toEqual(["ACTION_SETTLED"]);
  });

  it("is kept whole where it is advice, and holds offline", async () => {
    await using fixture = await lost();
    const { t, id, send } = fixture;
    const said = { resolution: "done", result: { seen: "in the outbox" } } as const;
    const signature = await sign(t, id, doubt, coach, said);
    expect((await approve(t, id, coach, { ...said, signature })).status).toBe("voted");
    expect((await gateOf(t, id, doubt)).votes).toMatchObject([{ advisory: true, ...said }]);
    await approve(t, id, ann, {
      resolution: "retry",
      signature: await sign(t, id, doubt, ann, { resolution: "retry" }),
    });
    expect((await t.rest(id)).state).toBe("completed");
    expect(send.calls).toHaveLength(2);
    expect(await badIn(await eventsOf(t, id))).toEqual([]);
    expect(await t.kernel.replay(id)).toMatchObject({ identical: true });
  });
});

describe("a word on a call in doubt that contradicts itself", () => {
  it.each([
    ["a rejection that says what else became of it", "reject", { resolution: "done" }],
    ["a rejection with a result", "reject", { result: 1 }],
    ["a result of a call that is to be made again", "approve", { resolution: "retry", result: 1 }],
  ] as const)("is refused: %s", async (_title, decision, said) => {
    await using fixture = await lost();
    const { t, id } = fixture;
    const word = decision === "approve" ? approve : reject;
    expect((await refusalOf(word(t, id, ann, said))).code).toBe("T5_GATE_CONFLICT");
    expect(await t.types(id)).not.toContain("ACTION_SETTLED");
  });

  it("is refused once it is decided, where it says another answer or another result", async () => {
    await using fixture = await lost();
    const { t, id } = fixture;
    const { payload_digest } = await gateOf(t, id, doubt);
    const say = (more: object) =>
      t.kernel.decideGate(id, {
        tenant_id: 1,
        principal: ann,
        gate_id: doubt,
        decision: "approve",
        payload: { payload_digest, ...more },
      });
    const said = { resolution: "done", result: { sent: 1 } } as const;
    const signature = await sign(t, id, doubt, ann, said);
    await say({ ...said, signature });
    expect((await say(said)).status).toBe("resumed");
    for (const other of [{ resolution: "retry" }, { resolution: "done", result: { sent: 2 } }])
      expect((await refusalOf(say(other))).code).toBe("T5_GATE_CONFLICT");
  });
});

describe("where an outcome is applied", () => {
  const targets = ["board", "archive"];
  const two = { signed: true, quorum: { approvals: 2 } };

  async function open(gate: object = { signed: true }) {
    const { capability, publish } = publishing({ gate });
    const t = await createTestKernel({ capabilities: [capability], approverKeys });
    return { t, id: await waiting(t), publish, [Symbol.asyncDispose]: () => t.kernel.stop({ drainMs: 0 }) };
  }

  it("[GAT-02] is covered by the signature, and the claims of a plain decision are what they were", async () => {
    await using fixture = await open();
    const { t, id, publish } = fixture;
    const plain = await sign(t, id, "gate-publish", ann);
    expect(decodeProtectedHeader(plain)).toEqual({ alg: "EdDSA", claims: 2 });
    const gate = await gateOf(t, id);
    expect(
      Object.keys(JSON.parse(signingInput(gate, { principal: ann, decision: "approve", apply_targets: [] }))),
    ).toHaveLength(9);
    expect((await refusalOf(approve(t, id, ann, { apply_targets: targets, signature: plain }))).code).toBe(
      "T5_SIGNATURE_INVALID",
    );
    const signature = await sign(t, id, "gate-publish", ann, { apply_targets: targets });
    for (const other of [[], targets.toReversed(), ["board"]])
      expect((await refusalOf(approve(t, id, ann, { apply_targets: other, signature }))).code).toBe(
        "T5_SIGNATURE_INVALID",
      );
    await approve(t, id, ann, { apply_targets: targets, signature });
    await t.rest(id);
    expect(publish.calls[0]?.context.target?.apply_targets).toEqual(targets);
    const events = await eventsOf(t, id);
    expect(await badIn(events)).toEqual([]);
    expect(await badIn(changed(events, "USER_APPROVED", { apply_targets: ["elsewhere"] }))).toEqual(["USER_APPROVED"]);
    expect(await badIn(changed(events, "USER_APPROVED", { apply_targets: [] }))).toEqual(["USER_APPROVED"]);
  });

  it("cannot be added to a plain signature; one of an earlier release, which named none, holds with them", async () => {
    await using fixture = await open();
    const { t, id } = fixture;
    const jws = await signEarlier(t, id, "gate-publish");
    await approve(t, id, ann, { signature: await sign(t, id, "gate-publish", ann) });
    const forged = changed(await eventsOf(t, id), "USER_APPROVED", { apply_targets: ["elsewhere"] });
    expect(await badIn(forged)).toEqual(["USER_APPROVED"]);
    expect(await badIn(changed(forged, "USER_APPROVED", { signature: { jws, jwk: known, kid: null } }))).toEqual([]);
  });

  it("is one place for all votes that carry it: another one is refused, and each signature names it", async () => {
    await using fixture = await open(two);
    const { t, id, publish } = fixture;
    const vote = async (who: Person, apply_targets: readonly string[]) =>
      approve(t, id, who, {
        apply_targets: [...apply_targets],
        signature: await sign(t, id, "gate-publish", who, { apply_targets }),
      });
    expect((await vote(ann, targets)).status).toBe("voted");
    for (const other of [[], ["elsewhere"]]) expect((await refusalOf(vote(bob, other))).code).toBe("T5_GATE_CONFLICT");
    expect((await refusalOf(vote(ann, ["elsewhere"]))).code).toBe("T5_GATE_CONFLICT");
    expect((await gateOf(t, id)).votes).toMatchObject([{ principal: { id: "ann" }, apply_targets: targets }]);
    expect((await vote(cat, targets)).status).toBe("resumed");
    await t.rest(id);
    expect(publish.calls[0]?.context.target?.apply_targets).toEqual(targets);
    expect(await badIn(await eventsOf(t, id))).toEqual([]);
    expect(await t.kernel.replay(id)).toMatchObject({ identical: true });
    const late = { tenant_id: 1, principal: bob, gate_id: "gate-publish", decision: "approve" } as const;
    const elsewhere = { ...late, payload: { apply_targets: ["elsewhere"] } };
    expect((await refusalOf(t.kernel.decideGate(id, elsewhere))).code).toBe("T5_GATE_CONFLICT");
    expect((await t.kernel.decideGate(id, late)).status).toBe("resumed");
  });
});

describe("a signed vote at a gate with parts and stages", () => {
  const roles = Object.fromEntries(
    ["user", "risk", "law"].map((name) => [
      name,
      { scopes: ["intent:submit", "workflow:execute", "outcome:read", "gate:approve"] },
    ]),
  );
  const [rita, lara] = [person("rita", "risk"), person("lara", "law")];
  const quorum = { of: ["risk", "law"].map((role) => ({ role, approvals: 1 })) };

  it("[GAT-02] names the part and the stage for which it counts, and counts for no other", async () => {
    const { capability } = gated({ signed: true, stages: [{ roles: ["user"] }, { quorum }] });
    const t = await createTestKernel({ capabilities: [capability], approverKeys, roles });
    const id = await waiting(t);
    const vote = async (principal: Person, seat?: ApprovalSigning["seat"]) => {
      const gate = await t.kernel.gate(id, "gate-s1", { ...testCaller, principal });
      return approve(t, id, principal, {
        signature: await signApproval(gate, { principal, decision: "approve", key, seat }),
      });
    };
    await vote(ann);
    for (const seat of [{ part: "law", stage: 2 }, { part: "risk", stage: 1 }, { part: "risk" }, {}])
      expect((await refusalOf(vote(rita, seat))).code).toBe("T5_SIGNATURE_INVALID");
    await vote(rita);
    await vote(lara, { part: "law", stage: 2 });
    const events = await eventsOf(t, id);
    expect((await t.kernel.verify(id, { keys: approverKeys })).ok).toBe(true);
    for (const relabelled of [{ part: "finance" }, { stage: 3 }, { part: undefined, stage: undefined }]) {
      const found = await badIn(changed(events, "GATE_VOTED", relabelled));
      expect(found.filter((type) => type === "GATE_VOTED")).toHaveLength(3);
    }
    await t.kernel.stop();
  });
});
