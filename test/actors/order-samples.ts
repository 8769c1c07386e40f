/** Samples of the orders of people: fork, halt, lift, pause, resume and rollback. */
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

const fields = (sample: object, wrong: object): Sample => ({ sample, wrong: { ...sample, ...wrong } });

export const orderSamples: Readonly<Record<string, Sample>> = {
  ForkOrigin: fields({ workflow_id: wf, sequence: 9, step_id: "publish", reason: "wrong" }, { sequence: 0 }),
  ForkRequest: fields(
    { ...claim, at: "publish", inputs: { text: "b" }, outputs: { draft: 1 }, reason: "wrong" },
    { at: true },
  ),
  ForkResponse: fields(
    { workflow_id: wf, status: "accepted", forked_from: wf, correlation_id: cor },
    { status: "restarted" },
  ),
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
