/** Samples of the orders of people: fork, grant, halt, lift, pause, resume, rollback and stand-in. */
import type { Sample } from "./schema-samples.ts";

const ulid = "01KDVDNA0047C4FEZDQK8YZG0N";
const [wf, cor] = [`wf_${ulid}`, `cor_${ulid}`];
const claim = { tenant_id: "acme", principal: { type: "user", id: 42, role: "admin" } };
const halt = {
  halt_id: `hlt_${ulid}`,
  of: { operator: "Bank.Pay" },
  reason: "payments go to the wrong account",
  by: { type: "user", id: "ann", role: "admin" },
  at: "2026-01-01T00:00:00.000Z",
};

const terms = { when: [{ value: "order.total", at_most: 100 }], until: "2026-02-01T00:00:00Z", uses: 3, money: 50 };
const auth = {
  tenant_id: "acme",
  principal_id: 42,
  principal_type: "user",
  role: "admin",
  scopes: ["gate:approve"],
  data_policy: { allow_pii: true, allow_external_send: false },
};
const described = {
  ...terms,
  grant_id: `grt_${ulid}`,
  operator: "Bank.Pay",
  capability: "Shop.Order@1.0",
  workflow_id: wf,
  gate_id: "gate-pay",
  by: { type: "user", id: "ann", role: "admin" },
  at: "2026-01-01T00:00:00.000Z",
  reason: "small",
  policy_version: "default-1",
  asked_digest: "d1",
};
const grant = { ...described, auth };
const standing = { ...described, used: { uses: 1, money: 5 } };

const order = {
  stand_in_id: `stn_${ulid}`,
  by: { type: "user", id: "ann", role: "admin" },
  to: { type: "user", id: "bo" },
  from: "2026-01-01T00:00:00.000Z",
  until: "2026-02-01T00:00:00.000Z",
  reason: "on leave",
  at: "2026-01-01T00:00:00.000Z",
};
const { stand_in_id } = order;
const awayAt = { stand_in_id, who: { type: "user", id: "ann" }, to: order.to, until: order.until, reason: "on leave" };

const fields = (sample: object, wrong: object): Sample => ({ sample, wrong: { ...sample, ...wrong } });

const decision = {
  workflow_id: wf,
  sequence: 7,
  at: "2026-01-01T00:00:00.000Z",
  gate_id: "gate-pay",
  act: "approve",
  principal: { type: "user", id: "ann", role: "admin" },
  closes: true,
  comment: null,
  title: "Pay",
  work: "Order 7",
  intent_type: "Shop.Order",
  operator: "Bank.Pay",
  risk_level: "low",
  estimated_cost: 0,
  payload_digest: "d1",
  requester: null,
};

export const orderSamples: Readonly<Record<string, Sample>> = {
  AwayAtGate: fields(awayAt, { who: "ann" }),
  Decision: fields(decision, { act: "maybe" }),
  DecisionAct: { sample: "edit", wrong: "expire" },
  DecisionFilter: fields({ mine: true, act: "reject", since: "2026-01-01", limit: 5, total: false }, { sort: "due" }),
  DecisionPage: fields({ decisions: [decision], next: null }, { next: 5 }),
  EndStandInRequest: fields({ ...claim, stand_in_id, reason: "back" }, { stand_in_id: 5 }),
  EndStandInResponse: fields({ stand_in_id, status: "ended" }, { stand_in_id: "wf_1" }),
  ForkOrigin: fields({ workflow_id: wf, sequence: 9, step_id: "publish", reason: "wrong" }, { sequence: 0 }),
  ForkRequest: fields(
    { ...claim, at: "publish", inputs: { text: "b" }, outputs: { draft: 1 }, reason: "wrong" },
    { at: true },
  ),
  ForkResponse: fields(
    { workflow_id: wf, status: "accepted", forked_from: wf, correlation_id: cor },
    { status: "restarted" },
  ),
  Grant: fields(grant, { by: "ann" }),
  GrantFilter: fields({ tenant_id: "acme", limit: 5 }, { limit: 0 }),
  GrantPage: fields({ grants: [standing], next: null }, { next: 5 }),
  GrantRequest: fields({ ...claim, workflow_id: wf, gate_id: "gate-pay", ...terms, reason: "small" }, { uses: 0 }),
  GrantResponse: fields({ grant_id: grant.grant_id, status: "granted" }, { status: "given" }),
  GrantStanding: fields(standing, { used: null }),
  GrantTerms: fields(terms, { until: "tomorrow" }),
  GrantTest: fields({ value: "order.total", at_most: 100 }, { value: "order.*" }),
  GrantUse: fields(
    { grant_id: grant.grant_id, given_at: grant.at, money: 5, within: { invocations: 3 } },
    { money: "5" },
  ),
  RevokeGrantRequest: fields({ ...claim, grant_id: grant.grant_id, reason: "changed" }, { grant_id: 5 }),
  RevokeGrantResponse: fields({ grant_id: grant.grant_id, status: "revoked" }, { grant_id: "wf_1" }),
  Halt: fields(halt, { reason: 5 }),
  HaltFilter: fields({ capability: "Shop.Order", operator: "Bank.Pay", principal: { id: 7 } }, { operator: 5 }),
  HaltRequest: fields({ ...claim, of: { operator: "Bank.Pay" }, reason: "stop" }, { reason: "" }),
  HaltResponse: fields({ halt_id: halt.halt_id, status: "halted" }, { status: "lifted" }),
  HaltStanding: fields({ ...halt, held: { workflows: 1, steps: 2 } }, { held: null }),
  InputRequest: fields({ ...claim, text: "look at B-8 as well" }, { text: "" }),
  InputResponse: fields({ workflow_id: wf, status: "received", correlation_id: cor }, { status: "read" }),
  LiftRequest: fields({ ...claim, halt_id: halt.halt_id, reason: "go on" }, { halt_id: 5 }),
  LiftResponse: fields({ halt_id: halt.halt_id, status: "lifted" }, { halt_id: "wf_1" }),
  PauseRequest: fields({ ...claim, reason: "wait" }, { reason: 5 }),
  PauseResponse: fields({ workflow_id: wf, status: "paused", correlation_id: cor }, { status: "running" }),
  StandIn: fields({ ...order, auth }, { to: "bo" }),
  StandInFilter: fields({ tenant_id: "acme", mine: true, limit: 5 }, { limit: 0 }),
  StandInPage: fields({ stand_ins: [{ ...order, votes: 1 }], next: null }, { next: 5 }),
  StandInRequest: fields({ ...claim, to: order.to, until: order.until, reason: "on leave" }, { until: "tomorrow" }),
  StandInResponse: fields({ stand_in_id, status: "named" }, { status: "ended" }),
  StandInStanding: fields({ ...order, votes: 1 }, { votes: -1 }),
  RollbackRequest: fields({ ...claim, reason: "by mistake" }, { reason: 5 }),
  RollbackResponse: fields(
    { workflow_id: wf, status: "cancelled", compensated: "partly", correlation_id: cor },
    { compensated: "half" },
  ),
  ResumeRequest: fields({ ...claim, reason: "go on" }, { principal: 5 }),
  TokenUrlRequest: fields({ ...claim, step_id: "sign" }, { step_id: "" }),
  TokenUrlResponse: fields({ workflow_id: wf, step_id: "sign", url: "https://work.example/v1/waits/t" }, { url: 5 }),
  WaitAnswer: fields({ token: "t", payload: { by: "ada" } }, { token: "" }),
  WaitAnswered: fields({ status: "received", duplicate: false }, { status: "kept" }),
  ResumeResponse: fields({ workflow_id: wf, status: "resumed", correlation_id: cor }, { workflow_id: 7 }),
};
