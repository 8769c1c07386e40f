/**
 * Evaluates another policy set over past ledgers (what-if). Every recorded decision is asked again, as it was asked,
 * and reported if the answer would differ.
 *
 * Owns: the walk over workflows, the comparison, the counts. Never: appends, runs a workflow, or changes a record.
 * 1.  Each decision is judged by itself, on what did happen: a hypothetical denial does not stop later decisions.
 * 2.  A decision that cannot be asked again is reported as unknown with a reason; none is left out silently.
 * 3.  One workflow's events and one page of heads are in memory at a time.
 */
import type { z } from "zod";
import { foldWorkflow } from "../../machines/fold.ts";
import { type Caller, tenantOf } from "../contract/auth-context.ts";
import { canonicalJson } from "../contract/digest.ts";
import { type LedgerEvent, payloadOf } from "../contract/event.ts";
import { readStrictly } from "../contract/known-keys.ts";
import { moduleRef } from "../contract/module-ref.ts";
import type { PlanStep } from "../contract/plan.ts";
import type { PolicyDecision } from "../contract/policy.ts";
import { redact } from "../contract/redact.ts";
import { openTurns } from "../contract/turn.ts";
import type { WhatIfFinding, WhatIfReport } from "../contract/whatif-report.ts";
import type { WorkflowRecord } from "../contract/workflow.ts";
import type { Registry } from "../engine/actors/registry.ts";
import { eachHead } from "../engine/log/each-head.ts";
import { readable } from "../engine/log/read-turns.ts";
import { assemblePolicies, WhatIf } from "../kernel/policies.ts";
import type { LedgerStore, WorkflowHead } from "../ports/ledger-store.ts";
import { evaluatePolicies } from "../tiers/t5-ego/policy/evaluate-policies.ts";
import type { PolicyEngine } from "../tiers/t5-ego/policy/evaluate-round.ts";
import { type PastDecision, pastQuestion } from "./past-question.ts";

export interface WhatIfParts {
  readonly store: LedgerStore;
  readonly registry: Registry;
  /** Whether the kernel itself has the default rules. */
  readonly withDefault: boolean;
  readonly engine: Pick<PolicyEngine, "clock" | "timeoutMs" | "maxRounds">;
  readonly caller: Caller | undefined;
}

const whatIfRef = moduleRef(5, "policy", "what_if");

type Question = z.output<typeof WhatIf>;

interface Walk {
  readonly store: LedgerStore;
  readonly engine: PolicyEngine;
  readonly scope: Question;
  readonly operatorToday: PastDecision["operatorToday"];
  readonly tenant: Caller["tenant_id"] | undefined;
}

interface Counts {
  workflows: number;
  decisions: number;
  differing: number;
  unknown: number;
  readonly changes: Record<string, number>;
}

/**
 * Yields each finding in the order of workflows and events, and returns the counts.
 * @throws KernelErrorException T0_VALIDATION_SCHEMA_MISMATCH for a scope or policies that cannot be read.
 */
export async function* whatIf(asked: WhatIf, parts: WhatIfParts): AsyncGenerator<WhatIfFinding, WhatIfReport, void> {
  const scope = readStrictly(WhatIf, asked, { what: "what if", source: whatIfRef });
  const withDefault = scope.defaultPolicies ?? parts.withDefault;
  const walk: Walk = {
    store: parts.store,
    engine: { ...parts.engine, ...assemblePolicies(scope.policies, { withDefault }) },
    scope,
    operatorToday: (step: PlanStep) => parts.registry.findOperator(step.operator, step.operator_version),
    tenant: tenantOf(parts.caller),
  };
  const counts: Counts = { workflows: 0, decisions: 0, differing: 0, unknown: 0, changes: {} };
  for await (const head of headsIn(walk)) yield* askWorkflow(walk, head.workflow_id, counts);
  return { policy_version: walk.engine.version, ...counts };
}

/** Workflows of the scope that may hold decisions of its time, page by page. */
async function* headsIn({ store, scope, tenant }: Walk): AsyncGenerator<WorkflowHead, void, void> {
  const { since, until, intent_type, workflow_id } = scope;
  const filter = {
    ...(tenant === undefined ? {} : { tenant_id: tenant }),
    ...(intent_type === undefined ? {} : { intent_type }),
  };
  if (workflow_id !== undefined) {
    const head = await store.head(workflow_id);
    const fits =
      (tenant ?? head?.tenant_id) === head?.tenant_id && (intent_type ?? head?.intent_type) === head?.intent_type;
    if (head !== null && fits) yield head;
    return;
  }
  for await (const head of eachHead(store, filter)) if (head.updated_at >= since && head.created_at < until) yield head;
}

async function* askWorkflow(walk: Walk, workflowId: string, counts: Counts): AsyncGenerator<WhatIfFinding, void, void> {
  const events = openTurns(await walk.store.read(workflowId));
  counts.workflows += 1;
  let record: WorkflowRecord | null = null;
  for (const [index, event] of events.entries()) {
    const finding = isInScope(event, walk.scope) ? await askAgain(walk, { record, event, events, index }) : undefined;
    record = readable(workflowId, () => foldWorkflow(record, event));
    if (finding === undefined) continue;
    counts.decisions += 1;
    if (finding === null) continue;
    count(counts, finding);
    yield finding;
  }
}

const isInScope = ({ event_type, timestamp }: LedgerEvent, { since, until }: Question): boolean => {
  if (event_type !== "POLICY_DECIDED") return false;
  const at = Date.parse(timestamp);
  return at >= since && at < until;
};

function count(counts: Counts, { kind, was, would_be }: WhatIfFinding): void {
  if (kind === "unknown" || would_be === null) {
    counts.unknown += 1;
    return;
  }
  const change = `${was.decision} → ${would_be.decision}`;
  counts.differing += 1;
  counts.changes[change] = (counts.changes[change] ?? 0) + 1;
}

type JudgedDecision = Pick<PastDecision, "event" | "events" | "index"> & { readonly record: WorkflowRecord | null };

/** Returns the finding about one decision; null if it would be the same. */
async function askAgain(
  { engine, scope, operatorToday }: Walk,
  { record, event, ...place }: JudgedDecision,
): Promise<WhatIfFinding | null> {
  const decided = payloadOf(event, "POLICY_DECIDED");
  const question =
    record === null
      ? "the beginning of the workflow is not in the ledger"
      : readable(record.workflow_id, () => pastQuestion({ record, event, decided, operatorToday, ...place }));
  const { decision, reason, transform, redactions, policies = [], lifts, policy_version = "1" } = decided;
  // Older ledgers hold transforms in their unmasked form.
  const masked = redact(transform, redactions);
  const was: PolicyDecision = {
    ...{ decision, reason, transform: masked, redactions, policies, policy_version },
    ...(lifts !== undefined && { lifts }),
  };
  const base = {
    workflow_id: event.workflow_id as string,
    sequence: event.sequence,
    event_id: event.event_id,
    timestamp: event.timestamp,
    stage: decided.stage,
    step_id: event.step_id,
    subject: decided.subject,
    was,
  };
  if (typeof question === "string") return { kind: "unknown", ...base, would_be: null, reason: question };
  const standing = decided.stage === "action" ? record?.steps.get(event.step_id ?? "")?.decision : null;
  const would_be = await evaluatePolicies(engine, question, standing?.redactions);
  const difference = differenceOf(was, would_be, scope.names);
  return difference === null ? null : { kind: "differs", ...base, would_be, reason: difference };
}

/** Describes the difference; null if there is none. */
function differenceOf(was: PolicyDecision, would: PolicyDecision, names: boolean): string | null {
  const changed = [
    ...(was.decision === would.decision ? [] : [`${would.decision} in place of ${was.decision}`]),
    ...(isSame(was.transform, would.transform) ? [] : ["another transform"]),
    ...(isSame(was.redactions.toSorted(), would.redactions.toSorted()) ? [] : ["other redactions"]),
    ...(!names || isSame(was.policies, would.policies) ? [] : ["other rules"]),
    ...(!names || isSame(was.lifts ?? [], would.lifts ?? []) ? [] : ["other lifts"]),
  ];
  return changed.length === 0 ? null : `${changed.join(", ")}: ${would.reason}`;
}

const isSame = (one: unknown, other: unknown): boolean => one === other || canonicalJson(one) === canonicalJson(other);
