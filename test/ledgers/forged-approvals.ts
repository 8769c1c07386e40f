/**
 * Forged approvals: somebody changes what was approved, computes the chain again, and may hide the signature from a
 * search for text.
 * Owns: a signed workflow, its forgeries, and evidence of them as a forger composes it. Never: asserts anything.
 */
import { exportJWK, generateKeyPair } from "jose";
import { chainHash, genesisHash, rowText } from "../../src/contract/chain.ts";
import { digest, sha256 } from "../../src/contract/digest.ts";
import { type EvidenceLine, sealEvidence } from "../../src/contract/evidence.ts";
import { openTurns, type TurnEvent, type TurnRow } from "../../src/contract/turn.ts";
import { type PublicJwk, signApproval } from "../../src/index.ts";
import type { LedgerStore } from "../../src/ports/ledger-store.ts";
import { createTestKernel } from "../../src/testing/index.ts";
import { projectAudit } from "../../src/tiers/t6-metacognition/project-audit.ts";
import { ann, approve, gated, waiting } from "../gates/people.ts";
import { gateOf } from "../gates/story.ts";
import { type Forgery, reseal } from "./reseal.ts";

async function newKey() {
  const { publicKey, privateKey } = await generateKeyPair("EdDSA", { crv: "Ed25519", extractable: true });
  return { secret: await exportJWK(privateKey), known: (await exportJWK(publicKey)) as PublicJwk };
}
const key = await newKey();
/** The file that `--keys` reads. */
export const keysFile = JSON.stringify({ [ann.id]: key.known });
export const approverKeys = () => key.known;

/** A workflow in the ledger, which ann approved and signed; gives its rows. */
export async function signIn(ledger: LedgerStore): Promise<readonly TurnRow[]> {
  const { capability } = gated({ signed: true });
  const t = await createTestKernel({ capabilities: [capability], approverKeys, ledger });
  const id = await waiting(t);
  const gate = await gateOf(t, id, "gate-s1");
  const signature = await signApproval(gate, { principal: ann, decision: "approve", key: key.secret });
  await approve(t, id, ann, { signature });
  await t.rest(id);
  const rows = await Array.fromAsync(t.kernel.export(id));
  await t.kernel.stop();
  return rows;
}

/** A kernel that reads the ledger. */
export const openOn = (ledger: LedgerStore) => createTestKernel({ ledger, capabilities: [gated({}).capability] });

/** The chain of rows whose texts were changed, computed again. */
function chainAgain(rows: readonly TurnRow[]): readonly TurnRow[] {
  let prev = genesisHash;
  return rows.map((row) => {
    const body_hash = sha256(row.body ?? "");
    const hash = chainHash(prev, row.envelope, body_hash);
    const chained = { ...row, prev_hash: prev, body_hash, hash };
    prev = hash;
    return chained;
  });
}

const respell = (rows: readonly TurnRow[], change: (text: string) => string): readonly TurnRow[] =>
  chainAgain(rows.map((row) => ({ ...row, body: change(row.body ?? "") })));
const respellEnvelopes = (rows: readonly TurnRow[], change: (text: string) => string): readonly TurnRow[] =>
  chainAgain(rows.map((row) => ({ ...row, envelope: change(row.envelope) })));

type Json = Record<string, unknown>;
const forgedPayload = { paid: "Eve" };

/** Another payload, with its digest wherever the record names it. */
const repay: Forgery = {
  event: (event) => {
    const payload = event.payload as Json;
    const forged = digest(forgedPayload);
    switch (event.type) {
      case "GATE_OPENED":
        return {
          ...event,
          payload: {
            ...payload,
            gate: { ...(payload["gate"] as Json), payload: forgedPayload, payload_digest: forged },
          },
        };
      case "USER_APPROVED":
        return { ...event, payload: { ...payload, payload_digest: forged } };
      case "ACTION_STARTED":
        return { ...event, payload: { ...payload, payload_hash: forged, input: forgedPayload } };
      default:
        return event;
    }
  },
};

const changing = (type: TurnEvent["type"], change: (payload: Json) => Json): Forgery => ({
  event: (event) => (event.type === type ? { ...event, payload: change(event.payload as Json) } : event),
});
const inGate = (members: Json) =>
  changing("GATE_OPENED", (p) => ({ ...p, gate: { ...(p["gate"] as Json), ...members } }));
const unsigned = changing("USER_APPROVED", ({ signature: _, ...left }) => left);

type Forge = (rows: readonly TurnRow[]) => readonly TurnRow[];
export const forgeries: readonly (readonly [string, Forge, reason: string])[] = [
  ["another payload, under the old signature", (rows) => reseal(rows, repay), "signature"],
  [
    "another payload, and an escape in the name of the signature",
    (rows) =>
      respell(reseal(rows, repay), (text) =>
        text.replace('"jws"', '"jw\\u0073"').replace('"signed"', '"s\\u0069gned"'),
      ),
    "spelling",
  ],
  [
    "another payload, and a space before each colon",
    (rows) =>
      respell(reseal(rows, repay), (text) => text.replace('"jws":', '"jws" :').replace('"signed":', '"signed" :')),
    "spelling",
  ],
  [
    "no signature, and an escape in the name of what asks for one",
    (rows) => respell(reseal(rows, unsigned), (text) => text.replace('"signed":true', '"s\\u0069gned":true')),
    "spelling",
  ],
  ["no signature at a gate that asks for one", (rows) => reseal(rows, unsigned), "signature"],
  [
    "a member that is there twice",
    (rows) => respell(rows, (text) => text.replace('"jws":', '"jws":"","jws":')),
    "spelling",
  ],
  ["a line end behind a body", (rows) => respell(rows, (text) => `${text}\n`), "spelling"],
  ["a space in an envelope", (rows) => respellEnvelopes(rows, (text) => text.replace('"now":', '"now": ')), "spelling"],
  [
    "an envelope that names its tenant twice",
    (rows) => respellEnvelopes(rows, (text) => text.replace('"tenant_id":', '"tenant_id":7,"tenant_id":')),
    "spelling",
  ],
  [
    "another payload at the gate, under the digest of what was approved",
    (rows) => reseal(rows, inGate({ payload: forgedPayload })),
    "signature",
  ],
  [
    "a call with another payload, under the digest of what was approved",
    (rows) =>
      reseal(
        rows,
        changing("ACTION_STARTED", (p) => ({ ...p, input: forgedPayload })),
      ),
    "signature",
  ],
  [
    "a call with another payload and its digest",
    (rows) =>
      reseal(
        rows,
        changing("ACTION_STARTED", (p) => ({ ...p, input: forgedPayload, payload_hash: digest(forgedPayload) })),
      ),
    "signature",
  ],
  ["a gate that was opened under another policy", (rows) => reseal(rows, inGate({ policy_version: "0" })), "signature"],
  [
    "a gate that shows another outcome",
    (rows) => reseal(rows, inGate({ target: { type: "Note", outcome_id: "out_x", version: 1 } })),
    "signature",
  ],
  [
    "a gate that rests on something else",
    (rows) => reseal(rows, inGate({ basis: [], basis_digest: digest([]) })),
    "signature",
  ],
  [
    "a call behind a gate whose decision was taken out",
    (rows) =>
      reseal(rows, {
        event: (event) =>
          event.type === "USER_APPROVED" ? { ...event, type: "WORKFLOW_RESUMED", payload: {} } : event,
      }),
    "signature",
  ],
  [
    "a decision at a gate that was never opened",
    (rows) =>
      reseal(
        rows,
        changing("USER_APPROVED", ({ signature: _, ...p }) => ({ ...p, gate_id: "gate-s9" })),
      ),
    "signature",
  ],
];

/** Evidence of rows as a forger composes it: audit and closing line fit what the rows say. */
export function composeForged(rows: readonly TurnRow[]): readonly string[] {
  const plain = respell(
    respellEnvelopes(rows, (text) => JSON.stringify(JSON.parse(text))),
    (text) => JSON.stringify(JSON.parse(text)),
  );
  const [head] = rows.slice(-1) as [TurnRow];
  const { stream } = head;
  const entries = projectAudit(openTurns(plain)).map((entry) => ({ evidence: "audit_entry", stream, entry }) as const);
  const counts = { rows: rows.length, audit_entries: entries.length, reports: 0 };
  const end = { sequence: head.last_sequence, hash: head.hash };
  const sealed: EvidenceLine[] = [];
  for (const line of [...entries, { evidence: "closing", stream, ...counts, head: end } as const])
    sealed.push(sealEvidence(sealed.at(-1)?.hash ?? head.hash, line));
  return [...rows.map(rowText), ...sealed.map((line) => JSON.stringify(line))];
}
