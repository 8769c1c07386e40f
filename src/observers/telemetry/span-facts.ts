/**
 * The attributes of spans: names of few kinds, ids, codes and counts.
 *
 * 1.  They contain no payload, result, preview or text, no name of a person, no message of an error.
 * 2.  A model call is named and described by the `gen_ai` conventions of OpenTelemetry.
 */
import type { Attributes } from "@opentelemetry/api";
import type { Usage } from "../../contract/action.ts";
import { type LedgerEvent, payloadOf } from "../../contract/event.ts";
import type { WorkflowRecord } from "../../contract/workflow.ts";
import type { Lifetime, LifetimeEnd } from "./lifetime.ts";

const verbs = { workflow: "workflow", step: "step", attempt: "call", gate: "gate" } as const;

export const nameOf = ({ kind, subject }: Lifetime): string => `${verbs[kind]} ${subject}`;

/** Returns the facts that are known at the beginning. */
export function factsOf(life: Lifetime, record: WorkflowRecord): Attributes {
  const { kind, subject, stepId, number, gateId } = life;
  const facts = { "countersign.workflow.id": life.workflowId };
  if (kind === "workflow")
    return {
      ...facts,
      "countersign.intent.type": subject,
      "countersign.tenant.id": String(record.tenant_id),
      "countersign.correlation.id": record.correlation_id,
      "countersign.pipeline": record.pipeline,
      "countersign.run": number,
    };
  const step = { ...facts, "countersign.step.id": stepId ?? "", "countersign.operator": subject };
  if (kind === "step") return { ...step, "countersign.run": number };
  if (kind === "attempt") return { ...step, "countersign.attempt": number };
  return { ...step, "countersign.gate.id": gateId ?? "" };
}

/** Returns the facts that are known at the end. */
export function factsOfEnd(life: Lifetime, end: LifetimeEnd): Attributes {
  const facts: Attributes = {
    "countersign.outcome": end.outcome,
    ...(end.error === null ? {} : { "error.type": end.error }),
  };
  return { ...facts, ...endings[life.kind](life, end) };
}

const endings: { readonly [K in Lifetime["kind"]]: (life: Lifetime, end: LifetimeEnd) => Attributes } = {
  workflow: (_life, { record }) => ({ "countersign.spent": record.spent, "countersign.steps": record.steps.size }),
  step: ({ stepId }, { record }) => factsOfDecision(record, stepId ?? ""),
  attempt: (life, end) => factsOfCall(life, end),
  gate: ({ gateId }, { record, event }) => factsOfGate(record, gateId ?? "", event),
};

function factsOfDecision({ steps }: WorkflowRecord, stepId: string): Attributes {
  const step = steps.get(stepId);
  if (step === undefined) return {};
  const { decision, attempts } = step;
  const reported = { "countersign.attempts": attempts.length };
  if (decision === null) return reported;
  return {
    ...reported,
    "countersign.policy.decision": decision.decision,
    "countersign.policy.version": decision.policy_version,
    ...(decision.decided_by === undefined ? {} : { "countersign.policy.rule": decision.decided_by }),
  };
}

function factsOfGate({ gates }: WorkflowRecord, gateId: string, event: LedgerEvent | null): Attributes {
  const gate = gates.get(gateId);
  if (gate === undefined) return {};
  return {
    "countersign.gate.kind": gate.kind,
    "countersign.gate.effect": gate.effect,
    "countersign.gate.risk": gate.risk_level,
    "countersign.gate.votes": gate.votes.length,
    "countersign.gate.edited": gate.edited || gate.decision?.edited === true,
    ...(event === null ? {} : { "countersign.gate.decided_by": event.actor.type }),
  };
}

interface Call {
  readonly action_id: string;
  readonly cached?: boolean;
  readonly usage?: Usage;
}

function factsOfCall({ number }: Lifetime, { record, event }: LifetimeEnd): Attributes {
  if (event === null) return {};
  const { action_id, cached = false, usage = {} } = payloadOf(event, "ACTION_SUCCEEDED") as Call;
  const entry = record.actions.get(action_id)?.record;
  return {
    "countersign.action.id": action_id,
    ...(entry === undefined ? {} : { "countersign.operator.version": entry.operator_version }),
    ...(cached ? { "countersign.cached": true } : {}),
    ...(usage.cost === undefined ? {} : { "countersign.cost": usage.cost.total }),
    ...factsOfModel(modelOf(record, { action_id, number, usage }), usage),
  };
}

/** Returns the endpoint that a call was routed to, or reported to have used; null if it is no model call. */
export function modelOf(
  { routes }: WorkflowRecord,
  { action_id, number, usage }: { readonly action_id: string; readonly number: number; readonly usage: Usage },
): string | null {
  const routed = routes.findLast((route) => route.action_id === action_id && route.attempt === number);
  return usage.model ?? routed?.endpoint ?? null;
}

function factsOfModel(model: string | null, { tokens, trace }: Usage): Attributes {
  if (model === null) return {};
  return {
    "gen_ai.operation.name": "chat",
    "gen_ai.request.model": model,
    ...(tokens === undefined
      ? {}
      : { "gen_ai.usage.input_tokens": tokens.in, "gen_ai.usage.output_tokens": tokens.out }),
    ...(trace === undefined ? {} : { "gen_ai.response.id": trace.trace_id, "gen_ai.provider.name": trace.trace_type }),
  };
}
