/**
 * A person's decision, from the request to the ledger (seed 003 section 3.2; A-35, house section 3).
 *
 * J1  First decision wins; the same again gets the recorded answer; a contradicting one is refused (409).
 * J2  An edit makes a new version, is checked like any payload, and the gate is bound to it before it is approved.
 * J3  A decision before its declared gate opens is kept if it names the digest; without one it is refused.
 * J4  Nothing is answered before it is committed.
 */

import type { AuthContext } from "../../contract/auth-context.ts";
import { digest } from "../../contract/digest.ts";
import { raise } from "../../contract/error.ts";
import { type ErrorCode, kernelError } from "../../contract/error-codes.ts";
import { draft, type GateDecided } from "../../contract/event.ts";
import type { Gate, GateResponse, ParsedGateRequest } from "../../contract/gate.ts";
import { deepFreeze, type Json, type JsonObject } from "../../contract/json.ts";
import { admitPayload } from "./admit-payload.ts";
import { failStep, humanDenied } from "./end-step.ts";
import { checkOutcome, judgeOutcome, nextVersion } from "./finish-step.ts";
import { type Deciding, judgeDecision } from "./judge-decision.ts";
import { describeGate } from "./open-gate.ts";
import { checkPayload } from "./prepare-step.ts";
import { resolveParams } from "./resolve-templates.ts";
import { oodaRef, outcomeOfStep, outputsOf, type Run, stepOf } from "./run.ts";

const gateRef = oodaRef("decide_gate");

function refuse(code: ErrorCode, message: string, detail: JsonObject): never {
  return raise(kernelError(code, message, gateRef, { detail }));
}

/** @throws KernelErrorException T5_GATE_NOT_FOUND, T5_GATE_CONFLICT, T5_GATE_AMBIGUOUS, T5_AUTHZ_FORBIDDEN, T5_POLICY_DENIED. */
export async function decideGate(run: Run, request: ParsedGateRequest, auth: AuthContext): Promise<GateResponse> {
  const gateId = gateIdFrom(run, request);
  const standing = run.log.record.gates.get(gateId);
  if (standing === undefined) return keepDecision(run, gateId, { request, auth });
  const answered = answerIfDecided(run, standing, request);
  if (answered !== null) return settleAnswer(run, answered);
  await judge(run, standing, { decision: request.decision, principal: request.principal, auth });
  const edited = request.payload.edit === undefined ? null : await prepareEdit(run, standing, request);
  const still = run.log.record.gates.get(gateId) as Gate;
  const meanwhile = answerIfDecided(run, still, request);
  if (meanwhile !== null) return settleAnswer(run, meanwhile);
  apply(run, edited?.(still) ?? still, request);
  // The work goes on at once, so that the decision and the step behind it share a row (and its sync).
  run.goOn();
  return settleAnswer(run, respond(run, request.decision));
}

async function settleAnswer(run: Run, answer: GateResponse): Promise<GateResponse> {
  await run.log.commit();
  return answer;
}

const respond = (run: Run, decision: "approve" | "reject"): GateResponse => ({
  workflow_id: run.log.record.workflow_id,
  status: decision === "approve" ? "resumed" : "rejected",
  correlation_id: run.log.record.correlation_id,
});

/** Without a gate id the decision is for the one open gate; with several open it is refused. */
function gateIdFrom(run: Run, request: ParsedGateRequest): string {
  if (request.gate_id !== undefined) return request.gate_id;
  const open = [...run.log.record.gates.values()].filter((g) => g.status === "open" || g.status === "suspended");
  if (open.length === 1) return (open[0] as Gate).gate_id;
  if (open.length > 1)
    return refuse("T5_GATE_AMBIGUOUS", `${open.length} gates are open; name one`, {
      gates: open.map((g) => g.gate_id),
    });
  return refuse("T5_GATE_NOT_FOUND", "no gate of this workflow is open", { state: run.log.record.state });
}

function answerIfDecided(run: Run, gate: Gate, request: ParsedGateRequest): GateResponse | null {
  if (gate.status === "open" || gate.status === "suspended") return checkOpen(run, gate, request);
  const alike = gate.decision?.decision === request.decision && isSamePayload(run, gate, request);
  if (alike && gate.status !== "voided") return respond(run, request.decision);
  return refuse("T5_GATE_CONFLICT", `${gate.gate_id} is ${gate.status} already`, {
    gate_id: gate.gate_id,
    status: gate.status,
    decision: gate.decision?.decision ?? null,
  });
}

/** The same decision is one on the same payload: as it was shown, or with the very edit that was decided. */
function isSamePayload(run: Run, gate: Gate, { payload }: ParsedGateRequest): boolean {
  const { edit, payload_digest } = payload;
  if (edit === undefined) return payload_digest === undefined || payload_digest === gate.payload_digest;
  if (gate.decision?.edited !== true) return false;
  const decided = gate.target === null ? gate.payload : editedContent(run, gate.target);
  return decided !== null && digest(merge(decided, edit)) === digest(decided);
}

/** The content of the outcome version that a gate is about. */
function editedContent(run: Run, { outcome_id, version }: NonNullable<Gate["target"]>): Json | null {
  const versions = run.log.record.outcomes.get(outcome_id) ?? [];
  return versions.find((outcome) => outcome.version === version)?.content ?? null;
}

function checkOpen(run: Run, gate: Gate, { payload }: ParsedGateRequest): null {
  if (payload.payload_digest !== undefined && payload.payload_digest !== gate.payload_digest) {
    refuse("T5_GATE_CONFLICT", `${gate.gate_id} now shows another payload than the one decided on; look again`, {
      gate_id: gate.gate_id,
      payload_digest: gate.payload_digest,
    });
  }
  if (payload.target !== undefined && gate.target !== null && payload.target.outcome_id !== gate.target.outcome_id) {
    refuse("T5_GATE_CONFLICT", `${gate.gate_id} is about another outcome`, {
      gate_id: gate.gate_id,
      outcome_id: gate.target.outcome_id,
    });
  }
  const unready = stepOf(run, gate.step_id).step.depends_on.some(
    (id) => run.log.record.steps.get(id)?.state !== "succeeded",
  );
  if (unready && gate.kind === "approval")
    refuse("T5_GATE_CONFLICT", `what ${gate.gate_id} is about is being made again`, { gate_id: gate.gate_id });
  return null;
}

async function judge(run: Run, gate: Gate, by: Deciding): Promise<void> {
  const judged = await judgeDecision(run, gate, by);
  if (judged.decision !== "DENY") return;
  await run.log.commit();
  refuse("T5_POLICY_DENIED", judged.reason || "policy does not let this person decide", {
    gate_id: gate.gate_id,
    policies: judged.policies,
  });
}

interface Early {
  readonly request: ParsedGateRequest;
  readonly auth: AuthContext;
}

function keepDecision(run: Run, gateId: string, { request, auth }: Early): Promise<GateResponse> {
  const { record } = run.log;
  if (record.plan?.gates.includes(gateId) !== true)
    refuse("T5_GATE_NOT_FOUND", `${gateId} is not a gate of this workflow`, { gate_id: gateId });
  const { payload_digest, apply_targets } = request.payload;
  if (payload_digest === undefined || record.finished_at !== null)
    refuse("T5_GATE_CONFLICT", `${gateId} is not open yet; name the payload digest to decide ahead`, {
      gate_id: gateId,
    });
  const standing = record.kept.get(gateId);
  if (standing !== undefined && standing.decision !== request.decision)
    refuse("T5_GATE_CONFLICT", `a decision on ${gateId} is kept already`, { gate_id: gateId });
  if (standing === undefined) {
    run.log.noteBy(
      { type: request.principal.type, id: request.principal.id },
      draft("GATE_DECISION_KEPT", {
        gate_id: gateId,
        decision: request.decision,
        principal: request.principal,
        auth,
        payload_digest: payload_digest as string,
        apply_targets,
      }),
    );
  }
  return settleAnswer(run, { workflow_id: record.workflow_id, status: "kept", correlation_id: record.correlation_id });
}

/**
 * Checks an edit before anything is noted; the returned function notes the new version and gives the revised gate.
 * @throws KernelErrorException T4_OUTCOME_INVALID, T4_PARAMS_INVALID, T4_PARAMS_REFUSED, T5_POLICY_DENIED.
 */
async function prepareEdit(run: Run, gate: Gate, request: ParsedGateRequest): Promise<(still: Gate) => Gate> {
  if (gate.kind === "in_doubt")
    refuse("T5_GATE_CONFLICT", "an in-doubt call cannot be edited", { gate_id: gate.gate_id });
  const edit = request.payload.edit as JsonObject;
  const { step } = stepOf(run, gate.step_id);
  const actor = { type: request.principal.type, id: request.principal.id };
  const operator =
    run.desk.registry.findOperator(step.operator, step.operator_version) ??
    refuse("T4_OPERATOR_UNKNOWN", `operator ${step.operator} is not registered`, {});
  const target = gate.target === null || step.applies === null ? null : outcomeOfStep(run.log.record, step.applies);
  const content =
    target === null
      ? null
      : await judgeOutcome(run, step, {
          type: target.outcome_type,
          content: checkOutcome(run, target.outcome_type, merge(target.content, edit)),
          keep: true,
        });
  const outcome =
    target === null
      ? null
      : {
          ...nextVersion(run, step, {
            type: target.outcome_type,
            content,
            status: "draft",
            draftVersion: target.draft_version,
          }),
          confidence: 1,
        };
  const outputs = new Map(outputsOf(run.log.record, step));
  if (outcome !== null && step.applies !== null)
    for (const id of outputs.keys())
      if (outcomeOfStep(run.log.record, id)?.outcome_id === outcome.outcome_id) outputs.set(id, outcome.content);
  const payload = deepFreeze(outcome === null ? merge(gate.payload, edit) : resolveParams(step.params, outputs).value);
  const input = await checkPayload(run, operator, payload);
  const prepared = await admitPayload(run, { step, operator, inputs: payload, payload, input, gate: null }, true);
  const shown = await describeGate(run, prepared, gate.reasons);
  return (still) => {
    const revised: Gate = {
      ...shown,
      gate_id: still.gate_id,
      opened_at: still.opened_at,
      due_at: still.due_at,
      target:
        outcome === null
          ? null
          : { type: outcome.outcome_type, outcome_id: outcome.outcome_id, version: outcome.version },
    };
    run.log.noteBy(
      actor,
      ...(outcome === null ? [] : [draft("OUTCOME_DRAFTED", { outcome, action_id: null }, gate.step_id)]),
      draft("GATE_REVISED", { gate: revised, cause: "edit", principal: request.principal }, gate.step_id),
    );
    return revised;
  };
}

const merge = (content: Json, edit: JsonObject): Json =>
  typeof content === "object" && content !== null && !Array.isArray(content)
    ? { ...content, ...(edit as Record<string, Json>) }
    : (edit as Json);

function apply(run: Run, gate: Gate, request: ParsedGateRequest): void {
  const { decision, principal, payload } = request;
  const actor = { type: principal.type, id: principal.id };
  const decided: GateDecided = {
    gate_id: gate.gate_id,
    principal,
    payload_digest: digest(gate.payload),
    policy_version: gate.policy_version,
    outcome_id: gate.target?.outcome_id ?? null,
    outcome_version: gate.target?.version ?? null,
    edited: payload.edit !== undefined,
    resolution: resolutionOf(gate, request),
    apply_targets: payload.apply_targets,
    comment: payload.comment ?? null,
  };
  run.log.noteBy(actor, draft(decision === "approve" ? "USER_APPROVED" : "USER_REJECTED", decided, gate.step_id));
  if (gate.kind === "in_doubt")
    settleDoubt(run, gate, {
      resolution: decided.resolution as "done" | "retry" | "failed",
      result: payload.result ?? null,
    });
  else if (decision === "reject") failStep(run, gate.step_id, humanDenied(gate.gate_id, "rejected"));
}

function resolutionOf(gate: Gate, { decision, payload }: ParsedGateRequest): GateDecided["resolution"] {
  if (gate.kind === "approval") return null;
  if (decision === "reject") return "failed";
  return (
    payload.resolution ??
    refuse("T5_GATE_CONFLICT", 'an in-doubt gate needs payload.resolution "done" or "retry"', { gate_id: gate.gate_id })
  );
}

/** What a person knows about a lost call becomes its end (house section 3). */
function settleDoubt(
  run: Run,
  gate: Gate,
  { resolution, result }: { readonly resolution: "done" | "retry" | "failed"; readonly result: Json },
): void {
  const step = stepOf(run, gate.step_id);
  if (step.action_id === null) return;
  run.log.note(
    draft(
      "ACTION_SETTLED",
      { action_id: step.action_id, resolution, result: resolution === "done" ? result : null },
      gate.step_id,
    ),
  );
  if (resolution === "failed")
    failStep(
      run,
      gate.step_id,
      kernelError("T4_DEPENDENCY_FAILED", "a person settled the lost call as failed", gateRef, {
        detail: { operator: gate.operator },
      }),
    );
}
