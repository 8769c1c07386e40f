/**
 * The doctor: finds unfinished workflows that cannot run with the registered packages, before anybody is affected.
 *
 * Owns: the obstacles of a workflow, and their remedies. Never: runs, writes, or calls an operator's own check.
 * 1.  Its findings are the refusals that the workflow, or a decision on it, would receive (check-runnable.ts of T4).
 * 2.  One workflow and one page of heads are in memory at a time; a log that cannot be read is a finding.
 */
import { type Caller, tenantOf } from "../contract/auth-context.ts";
import { type CapabilityDefinition, capabilityRef } from "../contract/capability.ts";
import { isAwaited } from "../contract/child.ts";
import {
  type DoctorFinding,
  DoctorQuestion,
  type DoctorReport,
  type EffectDone,
  type Obstacle,
  type Remedy,
} from "../contract/doctor-report.ts";
import { KernelErrorException } from "../contract/error.ts";
import type { Gate } from "../contract/gate.ts";
import { isOpenGate } from "../contract/gate.ts";
import { withoutUnset } from "../contract/json.ts";
import { readStrictly } from "../contract/known-keys.ts";
import { moduleRef } from "../contract/module-ref.ts";
import { isHarmless } from "../contract/operator.ts";
import type { PlanStep } from "../contract/plan.ts";
import type { PresentingFinding } from "../contract/presenting-finding.ts";
import { workflowStates } from "../contract/progress.ts";
import { readStably } from "../contract/schema-reading.ts";
import { withTemplates } from "../contract/step-group.ts";
import { callsOperator } from "../contract/step-kinds.ts";
import { isStepDone, isTerminal, type WorkflowRecord } from "../contract/workflow.ts";
import type { Registry } from "../engine/actors/registry.ts";
import type { LedgerReading } from "../engine/follow/ledger-reader.ts";
import { eachHead } from "../engine/log/each-head.ts";
import type { LedgerStore, WorkflowHead } from "../ports/ledger-store.ts";
import { whyUnfit } from "../tiers/t4-execution/decide/payload/prepare-step.ts";
import { examineDefinitions, examineGates, maxPresenting } from "./doctor-present.ts";

export interface DoctorParts {
  readonly store: Pick<LedgerStore, "head" | "heads">;
  readonly reading: Pick<LedgerReading, "readWorkflowState">;
  readonly registry: Registry;
}

const doctorRef = moduleRef(0, "kernel", "doctor");
const unfinished = workflowStates.filter((state) => !isTerminal(state));

/**
 * Yields the workflows that cannot run, in the order of ids, and returns the counts. @throws
 * T0_VALIDATION_SCHEMA_MISMATCH.
 */
export async function* examine(
  asked: DoctorQuestion,
  parts: DoctorParts,
  caller: Caller | undefined,
): AsyncGenerator<DoctorFinding, DoctorReport, void> {
  const question = readStrictly(DoctorQuestion, asked, { what: "doctor", source: doctorRef });
  let [workflows, stranded] = [0, 0];
  const presenting: PresentingFinding[] = [];
  if (question.workflow_id === undefined) presenting.push(...examineDefinitions(parts.registry, question));
  for await (const head of headsOf(question, parts, caller)) {
    workflows += 1;
    const { finding, cut } = await examineWorkflow(head, parts, caller);
    presenting.push(...cut.slice(0, Math.max(0, maxPresenting - presenting.length)));
    if (finding === null) continue;
    stranded += 1;
    yield finding;
  }
  return { ok: stranded === 0, workflows, stranded, presenting: presenting.slice(0, maxPresenting) };
}

async function* headsOf(
  { workflow_id, intent_type }: DoctorQuestion,
  { store, reading }: DoctorParts,
  caller: Caller | undefined,
): AsyncGenerator<WorkflowHead, void, void> {
  if (workflow_id !== undefined) {
    const head = await store.head(workflow_id);
    if (head === null || (tenantOf(caller) ?? head.tenant_id) !== head.tenant_id)
      return void (await reading.readWorkflowState(workflow_id, caller));
    if (!isTerminal(head.state) && (intent_type ?? head.intent_type) === head.intent_type) yield head;
    return;
  }
  yield* eachHead(store, withoutUnset({ states: unfinished, tenant_id: tenantOf(caller), intent_type }));
}

interface Examined {
  readonly finding: DoctorFinding | null;
  /** The open gates whose texts were cut. */
  readonly cut: readonly PresentingFinding[];
}

async function examineWorkflow(
  { workflow_id, tenant_id, intent_type, state }: WorkflowHead,
  { reading, registry }: DoctorParts,
  caller: Caller | undefined,
): Promise<Examined> {
  try {
    const record = await reading.readWorkflowState(workflow_id, caller);
    if (isTerminal(record.state)) return { finding: null, cut: [] };
    return { finding: diagnose(record, registry), cut: examineGates(record.gates.values()) };
  } catch (thrown) {
    if (!(thrown instanceof KernelErrorException)) throw thrown;
    const { code, message: reason } = thrown.error;
    const version = "";
    const place = { name: intent_type, version, registered: [], step_id: null, gate_id: null };
    const obstacles: Obstacle[] = [{ what: "ledger", code: code as Obstacle["code"], ...place, reason }];
    const finding = { workflow_id, tenant_id, intent_type, version, state, obstacles, done: [], remedies: [] };
    return { finding, cut: [] };
  }
}

/** Returns the obstacles of a workflow that has not ended; null if there are none. */
export function diagnose(record: WorkflowRecord, registry: Registry): DoctorFinding | null {
  const obstacles = [
    ...lackOfPackage(record, registry),
    ...lackOfOperators(record, registry),
    ...unfit(record, registry),
  ];
  if (obstacles.length === 0) return null;
  const { workflow_id, tenant_id, intent, state } = record;
  const remedies = remediesOf(record, obstacles, registry);
  const { type: intent_type, version } = intent;
  return {
    workflow_id,
    tenant_id,
    intent_type,
    version,
    state,
    obstacles,
    done: effectsDone(record, registry),
    remedies,
  };
}

const nowhere = { step_id: null, gate_id: null } as const;

function packagesOf({ intent }: WorkflowRecord, registry: Registry): readonly CapabilityDefinition[] {
  return registry.capabilities().filter(({ intentType }) => intentType === intent.type);
}

const packageOf = (record: WorkflowRecord, registry: Registry): CapabilityDefinition | undefined =>
  packagesOf(record, registry).find(({ version }) => version === record.intent.version);

function lackOfPackage(record: WorkflowRecord, registry: Registry): readonly Obstacle[] {
  if (packageOf(record, registry) !== undefined) return [];
  const { type: name, version } = record.intent;
  const registered = packagesOf(record, registry).map((one) => one.version);
  const reason = `${capabilityRef(name, version)} is not registered`;
  return [{ what: "package", code: "T1_NORMALIZE_UNKNOWN_INTENT", name, version, registered, ...nowhere, reason }];
}

function lackOfOperators({ plan, steps }: WorkflowRecord, registry: Registry): readonly Obstacle[] {
  const toCome = (plan?.steps ?? []).filter(({ step_id }) => !isStepDone(steps.get(step_id)?.state ?? "queued"));
  return withTemplates(toCome)
    .filter(callsOperator)
    .filter(({ operator, operator_version }) => registry.findOperator(operator, operator_version) === null)
    .map((step): Obstacle => {
      const place = placeOf(step, registry);
      return {
        what: "operator",
        code: "T4_OPERATOR_UNKNOWN",
        ...place,
        gate_id: null,
        reason: `${refOf(step)} is not registered`,
      };
    });
}

type Called = Pick<PlanStep, "step_id" | "operator" | "operator_version">;

const refOf = ({ operator, operator_version }: Called): string => `${operator}@${operator_version}`;

function placeOf({ step_id, operator: name, operator_version: version }: Called, registry: Registry) {
  const known = registry.operators().filter(({ metadata }) => metadata.name === name);
  return { step_id, name, version, registered: known.map(({ metadata }) => metadata.version) };
}

/** Returns definitions that are registered under the same version but no longer accept the waiting work. */
function unfit(record: WorkflowRecord, registry: Registry): readonly Obstacle[] {
  const waiting = [...record.gates.values()].filter((gate) => isOpenGate(gate) && gate.kind === "approval");
  return waiting.flatMap((gate) => unfitPayload(record, gate, registry));
}

function unfitPayload(
  { steps }: WorkflowRecord,
  { gate_id, step_id, payload }: Gate,
  registry: Registry,
): readonly Obstacle[] {
  const step = steps.get(step_id)?.step;
  const operator = step === undefined ? null : registry.findOperator(step.operator, step.operator_version);
  if (step === undefined || operator === null) return [];
  const unfit = whyUnfit(operator, payload);
  if (unfit === null) return [];
  const reason = `${refOf(step)} does not take the payload of ${gate_id}: ${unfit.problem}`;
  return [{ what: "payload", code: unfit.code, ...placeOf(step, registry), gate_id, reason }];
}

/** Calls that succeeded and may have changed something outside. */
function effectsDone({ actions, steps }: WorkflowRecord, registry: Registry): readonly EffectDone[] {
  return [...actions.values()].flatMap(({ seen, record: { operator_name, operator_version, step_id } }) => {
    const effect =
      steps.get(step_id)?.step.effect ?? registry.findOperator(operator_name, operator_version)?.metadata.effect;
    if (seen !== "succeeded" || (effect !== undefined && isHarmless(effect))) return [];
    return [{ step_id, operator: operator_name, operator_version }];
  });
}

/** Returns the remedies in the order in which they lose least. */
function remediesOf(record: WorkflowRecord, obstacles: readonly Obstacle[], registry: Registry): readonly Remedy[] {
  const missing = obstacles.filter(({ what }) => what === "package" || what === "operator");
  const pins = [...new Set(missing.map(({ name, version }) => `${name}@${version}`))].map(
    (ref): Remedy => ({
      kind: "pin",
      version: ref.slice(ref.indexOf("@") + 1),
      what: `register ${ref} beside what is there`,
    }),
  );
  const edits = obstacles
    .filter(({ what }) => what === "payload")
    .map((one): Remedy => ({ kind: "edit", version: null, what: `edit the payload of ${one.gate_id}` }));
  const end: Remedy = { kind: "end", version: null, what: "cancel it" };
  return [...pins, ...edits, ...migrations(record, registry), end];
}

/** Returns the newest version that accepts the inputs. */
function migrations(record: WorkflowRecord, registry: Registry): readonly Remedy[] {
  const { type, inputs } = record.intent;
  // A child that its parent waits for is migrated with its parent.
  if (packagesOf(record, registry).length === 0 || isAwaited(record.parent)) return [];
  const { version, input } = registry.getCapability(type);
  const kept = "what succeeded under the same operators is not done again";
  const what = `begin it again as ${capabilityRef(type, version)}; ${kept}`;
  return readStably(input, inputs).ok ? [{ kind: "migrate", version, what }] : [];
}
