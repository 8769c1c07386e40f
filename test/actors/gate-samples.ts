/** Samples of what is said about gates, as schema-samples.ts holds them of the other records. */
import type { Sample } from "./schema-samples.ts";

const ulid = "01KDVDNA0047C4FEZDQK8YZG0N";
const [wf, out, cor] = ["wf", "out", "cor"].map((p) => `${p}_${ulid}`);
const at = "2026-01-01T00:00:00.000Z";
const claim = { tenant_id: "acme", principal: { type: "user", id: 42, role: "admin" } };

const ann = { type: "user", id: "ann" };
const jwk = { kty: "OKP", crv: "Ed25519", x: "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo", kid: "k1" };
const signature = { jws: "header.claims.seal", jwk, kid: "k1" };
const vote = {
  decision: "approve",
  principal: ann,
  role: "admin",
  on_behalf_of: null,
  advisory: false,
  at,
  payload_digest: "d",
  signature,
  comment: null,
};
const delegation = { from: ann, to: { type: "user", id: "bob" }, expires_at: at };
const gate = {
  gate_id: "gate-s1",
  tenant_id: "acme",
  workflow_id: wf,
  step_id: "s1",
  kind: "approval",
  status: "open",
  title: "Publish",
  operator: "Files.Write",
  reasons: [{ source: "policy", rule: "default.final_write", reason: "a final write" }],
  target: { type: "Draft.Notes", outcome_id: out, version: 1 },
  payload: { path: "NOTES.md" },
  payload_digest: "d",
  policy_version: "default-1",
  preview: "# 1.0",
  diff: null,
  risk_level: "medium",
  estimated_cost: 1,
  effect: "final_write",
  consequences: { approve: "it is written", reject: "it is not", edit: "a new version" },
  ui_actions: [{ action: "apply", label: "Publish" }],
  roles: null,
  opened_at: at,
  due_at: null,
  expiry_action: null,
  escalate_to: null,
  ladder: [{ after_ms: 60_000, action: "escalate", role: "admin" }],
  quorum: { approvals: 2, rejections: 1 },
  approvers: [{ type: "user", id: "ann" }, { id: 7 }],
  advisors: ["support"],
  separation: true,
  delegation: true,
  signed: true,
  requester: { type: "user", id: 1 },
  votes: [vote],
  delegations: [delegation],
  edited: false,
  spent_signatures: ["header.claims"],
  decision: null,
};

const fields = (sample: object, wrong: object): Sample => ({ sample, wrong: { ...sample, ...wrong } });

export const gateSamples: Readonly<Record<string, Sample>> = {
  DelegationRequest: fields(
    { ...claim, gate_id: "gate-s1", to: { type: "user", id: "bob" }, expires_at: at },
    { expires_at: "tomorrow" },
  ),
  Gate: fields(gate, { ui_actions: "apply" }),
  GateDelegation: fields(delegation, { to: "bob" }),
  GateComment: fields(
    { comment_id: "sig_1", at, by: { type: "user", id: "bo" }, text: "is it right?", mentions: [] },
    { asks: false },
  ),
  GateConversation: fields({ comments: [], assigned_to: null, snoozed: [], watchers: [] }, { watchers: "bo" }),
  GateDoubt: fields({ called_at: at, error: null }, { called_at: 7 }),
  GateEditable: fields(
    { target: "payload", defined_by: { name: "Note.Write", version: "1.0" }, value: { text: "a" }, schema: null },
    { target: "diff" },
  ),
  GateNotice: fields(
    {
      notice_id: "msg_1",
      kind: "opened",
      at,
      tenant_id: "acme",
      workflow_id: wf,
      intent_type: "Note.Publish",
      gate,
      gate_now: gate,
      cancelled: null,
    },
    { kind: "closed" },
  ),
  WaitNotice: fields(
    {
      ...{
        notice_id: "msg_2",
        kind: "wait_reminded",
        at,
        tenant_id: "acme",
        workflow_id: wf,
        intent_type: "Deal.Close",
      },
      ...{ step_id: "sign", title: "Signed", event: "signed", key: "c-1", role: "sales", sent: 1, due_at: null },
    },
    { sent: 0 },
  ),
  NoticeTaken: fields({ remark: "one recipient is unknown", receipt: "C01 1700000000.1" }, { receipt: 7 }),
  GateRequest: fields(
    {
      ...claim,
      gate_id: "gate-s1",
      decision: "approve",
      payload: { target: { type: "Draft.Notes", outcome_id: out }, apply_targets: ["repo"] },
    },
    { payload: "approve" },
  ),
  NamedDecision: fields(
    { workflow_id: wf, decision: "approve", payload: { apply_targets: [], payload_digest: "d1" } },
    { workflow_id: 1, payload: {} },
  ),
  GateDecisions: fields(
    {
      ...claim,
      decisions: [{ workflow_id: wf, decision: "reject", payload: { apply_targets: [], payload_digest: "d1" } }],
    },
    { decisions: [] },
  ),
  DecisionResult: {
    sample: { workflow_id: wf, ok: true, answer: { workflow_id: wf, status: "resumed", correlation_id: cor } },
    wrong: { workflow_id: wf, ok: true },
  },
  GateDecisionsResponse: fields({ results: [], taken: 0, refused: 0 }, { taken: -1 }),
  GateResponse: fields({ workflow_id: wf, status: "resumed", correlation_id: cor }, { status: true }),
  GateSeat: fields({ may: true, reason: null, for: { type: "user", id: "bob" } }, { may: "yes" }),
  GateSignature: fields(signature, { jws: 1 }),
  GateTally: fields({ approvals: 1, rejections: 0, needed: { approvals: 2, rejections: 1 } }, { approvals: "1" }),
  GateVote: fields(vote, { advisory: "no" }),
  CutGate: fields({ ...gate, truncated: true }, { truncated: "no" }),
  ListedGate: fields({ ...gate, truncated: true, checked: true }, { checked: "no" }),
  AnswerForm: {
    sample: { type: "object", properties: { ok: { type: "boolean" } }, required: ["ok"] },
    wrong: { type: "object", properties: { ok: { type: "text" } }, required: ["ok"] },
  },
  NoticeKind: { sample: "due_soon", wrong: "soon" },
  PublicJwk: fields(jwk, { crv: "P-256" }),
  GateNoteRequest: fields({ ...claim, gate_id: "gate-s1", watch: true }, { snooze: "tomorrow" }),
  PresentedFact: fields({ label: "Amount", format: "money", value: 12, currency: "EUR" }, { format: "colour" }),
  WithdrawalRequest: fields({ ...claim, gate_id: "gate-s1" }, { gate_id: 1 }),
};
