/**
 * A decision at a gate that asks for signatures, held offline against what its gate shows and what is called behind it.
 */
import { exportJWK, generateKeyPair } from "jose";
import { describe, expect, it } from "vitest";
import { digest } from "../../src/contract/digest.ts";
import { type GateSpec, type LedgerEvent, type PublicJwk, signApproval, verifySignatures } from "../../src/index.ts";
import { createTestKernel } from "../../src/testing/index.ts";
import { ann, gated, say, waiting } from "./people.ts";
import { eventsOf, gateOf } from "./story.ts";

const { publicKey, privateKey } = await generateKeyPair("EdDSA", { crv: "Ed25519", extractable: true });
const [secret, known] = [await exportJWK(privateKey), (await exportJWK(publicKey)) as PublicJwk];

/** The events of a workflow whose gate ann answered and signed; null: nobody does, and its time runs out. */
async function answered(decision: "approve" | "reject" | null, spec: Partial<GateSpec> = { signed: true }) {
  const { capability, sent } = gated(spec);
  await using t = await createTestKernel({ capabilities: [capability], approverKeys: () => known });
  const id = await waiting(t);
  if (decision === null) await t.clock.advance(spec.expiry?.after_ms ?? 0);
  else {
    const gate = await gateOf(t, id, "gate-s1");
    const signature = await signApproval(gate, { principal: ann, decision, key: secret });
    await say(t, id, ann, decision, spec.signed === true ? { signature } : {});
  }
  await t.rest(id);
  return { events: await eventsOf(t, id), sent: sent() };
}

type Payload = Record<string, unknown>;
const changed = (events: readonly LedgerEvent[], type: string, change: (payload: Payload) => Payload) =>
  events.map((event) =>
    event.event_type === type ? ({ ...event, payload: change(event.payload as Payload) } as LedgerEvent) : event,
  );
const badIn = async (events: readonly LedgerEvent[]) => {
  const broken = await verifySignatures(events);
  return broken.map(({ sequence }) => events.find((event) => event.sequence === sequence)?.event_type);
};

const target = { type: "Note", outcome_id: "out_x", version: 1 };
const shown: readonly (readonly [string, Payload])[] = [
  ["payload", { payload: { other: 1 } }],
  ["policy", { policy_version: "0" }],
  ["outcome", { target }],
  ["basis", { basis: [{ name: "file", digest: "1" }], basis_digest: "2" }],
];

describe("a signed decision", () => {
  it.each(["approve", "reject"] as const)(
    "[GAT-02] to %s is good where its gate shows what was signed",
    async (word) => {
      const { events, sent } = await answered(word);
      expect(sent).toEqual(word === "approve" ? ["s1"] : []);
      expect(await badIn(events)).toEqual([]);
    },
  );

  it.each(shown)("[GAT-02] is bad where its gate shows another %s, whatever follows it", async (_what, members) => {
    const { events } = await answered("reject");
    const forged = changed(events, "GATE_OPENED", ({ gate }) => ({ gate: { ...(gate as Payload), ...members } }));
    expect(await badIn(forged)).toEqual(["USER_REJECTED"]);
  });

  it.each(["outcome_id", "outcome_version"])(
    "[GAT-02] is bad where it names another %s than its gate",
    async (name) => {
      const { events } = await answered("reject");
      const withTarget = changed(events, "GATE_OPENED", ({ gate }) => ({ gate: { ...(gate as Payload), target } }));
      const named = { outcome_id: target.outcome_id, outcome_version: target.version };
      const other = { ...named, [name]: name === "outcome_id" ? "out_y" : 2 };
      const unsigned = ({ signature: _, ...payload }: Payload) => payload;
      // Without a signature the claims say nothing; a quorum of none lets the votes say nothing either.
      const carried = (names: Payload) =>
        changed(
          changed(withTarget, "GATE_OPENED", ({ gate }) => ({
            gate: { ...(gate as Payload), quorum: { approvals: 0, rejections: 0 } },
          })),
          "USER_REJECTED",
          (payload) => ({ ...unsigned(payload), ...names, carried_by: [] }),
        );
      expect(await badIn(carried(named))).toEqual([]);
      expect(await badIn(carried(other))).toEqual(["USER_REJECTED"]);
    },
  );

  it("[GAT-02] is bad at a gate that was never opened, also where nobody asked for signatures", async () => {
    for (const signed of [true, false]) {
      const { events } = await answered("reject", { signed });
      expect(await badIn(events.filter(({ event_type }) => event_type !== "GATE_OPENED"))).toEqual(["USER_REJECTED"]);
    }
  });
});

describe("a signed vote", () => {
  it.each(shown)("[GAT-02] is bad where its gate shows another %s", async (_what, members) => {
    const { events } = await answered("approve", { signed: true, quorum: { approvals: 2, rejections: 2 } });
    expect(await badIn(events)).toEqual([]);
    const forged = changed(events, "GATE_OPENED", ({ gate }) => ({ gate: { ...(gate as Payload), ...members } }));
    expect(await badIn(forged)).toEqual(["GATE_VOTED"]);
  });
});

describe("a call behind a gate that asks for signatures", () => {
  const other = { other: 1 };
  it.each([
    ["another payload", { input: other }],
    ["another digest", { payload_hash: digest(other) }],
    ["another payload with its digest", { input: other, payload_hash: digest(other) }],
  ])("[GAT-02] is bad with %s", async (_what, members) => {
    const { events } = await answered("approve");
    expect(await badIn(changed(events, "ACTION_STARTED", (payload) => ({ ...payload, ...members })))).toEqual([
      "ACTION_STARTED",
    ]);
  });

  it("[GAT-02] that is tried again names its digest alone, and is bad with another", async () => {
    const { events } = await answered("approve");
    const at = events.findIndex(({ event_type }) => event_type === "ACTION_STARTED");
    const started = events[at] as LedgerEvent;
    const { input: _, ...payload } = started.payload as Payload;
    const again = (more: Payload) =>
      events.toSpliced(at + 1, 0, { ...started, sequence: started.sequence + 0.5, payload: { ...payload, ...more } });
    expect(await badIn(again({ attempt: 2 }))).toEqual([]);
    expect(await badIn(again({ attempt: 2, payload_hash: digest(other) }))).toEqual(["ACTION_STARTED"]);
  });

  it("[GAT-02] is bad where nobody approved it, or somebody rejected it", async () => {
    const { events } = await answered("approve");
    expect(await badIn(events.filter(({ event_type }) => event_type !== "USER_APPROVED"))).toEqual(["ACTION_STARTED"]);
    const { events: rejected } = await answered("reject");
    const started = events.find(({ event_type }) => event_type === "ACTION_STARTED") as LedgerEvent;
    expect(await badIn([...rejected, { ...started, sequence: rejected.length + 1 }])).toEqual(["ACTION_STARTED"]);
  });

  it("[GAT-02] is good where the gate's own expiry allows it, and bad where that denies it", async () => {
    const spec = { signed: true, expiry: { after_ms: 1_000, action: "allow" } } as const;
    const { events, sent } = await answered(null, spec);
    expect(sent).toEqual(["s1"]);
    expect(await badIn(events)).toEqual([]);
    const denied = changed(events, "GATE_EXPIRED", (payload) => ({ ...payload, action: "deny" }));
    expect(await badIn(denied)).toEqual(["ACTION_STARTED"]);
  });
});
