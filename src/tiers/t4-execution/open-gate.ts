/**
 * Opening a gate: the record a person decides on, complete before it is shown.
 *
 * G1  One gate per step; further triggers add reasons, not gates (C-12).
 * G2  A decision that was kept for this gate applies if it names the digest that opens and whoever gave it may decide
 *     what opens; otherwise it is void.
 */
import { z } from "zod";
import { digest } from "../../contract/digest.ts";
import { KernelErrorException } from "../../contract/error.ts";
import { draft, type EventDraft } from "../../contract/event.ts";
import { doubtGateIdOf, type Gate, type GateReason, gateIdOf } from "../../contract/gate.ts";
import type { Json } from "../../contract/json.ts";
import type { PlanStep } from "../../contract/plan.ts";
import type { KeptDecision } from "../../contract/workflow.ts";
import { callWithin, messageOf } from "../../runtime/within.ts";
import { judgeDecision } from "./judge-decision.ts";
import { operatorContext } from "./operator-context.ts";
import type { Prepared } from "./prepare-step.ts";
import { baseIdOf, capabilityOf, draftOfStep, mark, oodaRef, type Run } from "./run.ts";

/** Builds the gate of a step that waits for approval of exactly this payload. */
export async function describeGate(run: Run, prepared: Prepared, reasons: readonly GateReason[]): Promise<Gate> {
  const { step, operator, payload } = prepared;
  const { record } = run.log;
  const target = step.applies === null ? null : draftOfStep(record, step.applies);
  const { preview, diff } = await previewOf(run, prepared);
  const base = baseGate(run, step, payload);
  return {
    ...base,
    gate_id: gateIdOf(step.step_id),
    kind: "approval",
    title: step.name,
    reasons: [...reasons],
    target:
      target === null ? null : { type: target.outcome_type, outcome_id: target.outcome_id, version: target.version },
    preview,
    diff,
    risk_level: step.risk_level,
    effect: operator.metadata.effect,
    consequences: consequencesOf(run, step),
    ui_actions: [...(capabilityOf(run).uiActions[baseIdOf(step.step_id)] ?? [])],
    roles: step.gate?.roles ?? null,
    due_at:
      step.gate?.expiry === undefined
        ? null
        : new Date(Date.parse(base.opened_at) + step.gate.expiry.after_ms).toISOString(),
    expiry_action: step.gate?.expiry?.action ?? null,
    escalate_to: step.gate?.expiry?.role ?? null,
  };
}

/** What every gate says of the step it holds, the moment it opens. */
function baseGate(run: Run, step: PlanStep, payload: Json) {
  const { tenant_id, workflow_id } = run.log.record;
  return {
    tenant_id,
    workflow_id,
    step_id: step.step_id,
    status: "open",
    operator: step.operator,
    payload,
    payload_digest: digest(payload),
    policy_version: run.desk.policyVersion,
    estimated_cost: step.estimated_cost,
    opened_at: new Date(run.kit.clock.now()).toISOString(),
    decision: null,
  } as const;
}

function consequencesOf(run: Run, step: PlanStep): Gate["consequences"] {
  const dependents = [...run.log.record.steps.values()].filter((s) => s.step.depends_on.includes(step.step_id)).length;
  const makesFinal = step.applies === null ? "" : ` and makes the outcome of ${step.applies} final`;
  return {
    approve: `${step.operator} runs once with exactly this payload${makesFinal}.`,
    reject: `${step.operator} is not called; ${dependents} dependent step(s) are skipped and the workflow ends as cancelled once its other branches have ended.`,
    edit:
      step.applies === null
        ? "Your payload replaces this one and is checked like any other."
        : `Your content becomes a new version of the outcome of ${step.applies}; earlier votes are void.`,
  };
}

const Shown = z.object({ preview: z.string(), diff: z.string().nullable().default(null) });

/** What the operator shows, or the payload itself where it shows nothing or fails to. */
async function previewOf(
  run: Run,
  { operator, input, payload, step }: Prepared,
): Promise<{ readonly preview: string; readonly diff: string | null }> {
  const plain = JSON.stringify(payload, null, 2);
  const { preview } = operator;
  if (preview === null) return { preview: plain, diff: null };
  const within = {
    clock: run.kit.clock,
    timeoutMs: run.kit.limits.previewTimeoutMs,
    source: oodaRef("preview"),
    onTimeout: "T4_TOOL_TIMEOUT",
    onThrow: "T4_TOOL_EXECUTION_FAILED",
    what: `the preview of ${operator.metadata.name}`,
  } as const;
  try {
    const shown = await callWithin(
      () => preview({ input: input as never, context: operatorContext(run, step, operator), signal: run.signal }),
      within,
    );
    return Shown.parse(shown);
  } catch (thrown) {
    return { preview: `${plain}\n\n(no preview: ${messageOf(thrown)})`, diff: null };
  }
}

/** The events that open, or revise, a gate, and those of a kept decision that binds to the same digest. */
export async function gateEvents(
  run: Run,
  gate: Gate,
): Promise<{ readonly events: readonly EventDraft[]; readonly decided: boolean }> {
  const { record } = run.log;
  const standing = record.gates.get(gate.gate_id);
  const kept = record.kept.get(gate.gate_id);
  const open = (): EventDraft =>
    standing === undefined
      ? draft("GATE_OPENED", { gate: openNow(run, gate, "GATE_OPENED") }, gate.step_id)
      : draft(
          "GATE_REVISED",
          {
            gate: { ...openNow(run, gate, "GATE_REVISED"), due_at: standing.due_at },
            cause: "regenerate",
            principal: null,
          },
          gate.step_id,
        );
  mark(run, "gate.open", { gate_id: gate.gate_id });
  if (kept === undefined || !(await binds(run, gate, kept))) return { events: [open()], decided: false };
  const decided = {
    ...kept.decided,
    policy_version: gate.policy_version,
    outcome_id: gate.target?.outcome_id ?? null,
    outcome_version: gate.target?.version ?? null,
  };
  return {
    events: [open(), draft(kept.decision === "approve" ? "USER_APPROVED" : "USER_REJECTED", decided, gate.step_id)],
    decided: true,
  };
}

/** A gate opens at its turn's instant, and its time is counted from there. */
function openNow(run: Run, gate: Gate, type: "GATE_OPENED" | "GATE_REVISED"): Gate {
  const at = run.log.instantOf(type, gate.step_id);
  const waits = gate.due_at === null ? null : Date.parse(gate.due_at) - Date.parse(gate.opened_at);
  const due_at = waits === null ? null : new Date(at + waits).toISOString();
  return { ...gate, opened_at: new Date(at).toISOString(), due_at };
}

async function binds(
  run: Run,
  gate: Gate,
  { decision, payload_digest, decided, auth }: KeptDecision,
): Promise<boolean> {
  const { principal } = decided;
  if (payload_digest !== gate.payload_digest || principal === null) return false;
  try {
    return (await judgeDecision(run, gate, { decision, principal, auth })).decision !== "DENY";
  } catch (thrown) {
    if (!(thrown instanceof KernelErrorException)) throw thrown;
    run.kit.logger.warn({ gate_id: gate.gate_id, error: thrown.error }, "a decision given early is void");
    return false;
  }
}

/** The gate that asks a person what became of a lost call. */
export function describeDoubtGate(run: Run, step: PlanStep, payload: Json): Gate {
  const doubts = run.log.record.steps.get(step.step_id)?.doubts ?? 1;
  const reason = `${step.operator} was started and its end was never recorded; it may or may not have taken effect`;
  return {
    ...baseGate(run, step, payload),
    gate_id: doubtGateIdOf(step.step_id, doubts),
    kind: "in_doubt",
    opened_at: new Date(run.log.instantOf("GATE_OPENED", step.step_id)).toISOString(),
    title: `What became of ${step.name}?`,
    reasons: [{ source: "recovery", rule: "in-doubt", reason }],
    target: null,
    preview: JSON.stringify(payload, null, 2),
    diff: null,
    risk_level: "high",
    effect: run.desk.registry.findOperator(step.operator, step.operator_version)?.metadata.effect ?? "none",
    consequences: {
      approve:
        'With resolution "done" the step counts as done and is not called again; with "retry" it is called again under the same key.',
      reject: "The step counts as failed.",
      edit: "An in-doubt call cannot be edited.",
    },
    ui_actions: [],
    roles: null,
    due_at: null,
    expiry_action: null,
    escalate_to: null,
  };
}
