/**
 * Checks who may cancel, pause or continue a workflow: the scope, the requester of the work, and the operators that it
 * uses.
 *
 * 1.  `workflow:cancel:own`, `workflow:pause:own` and `workflow:retry:own` reach the workflows that the principal has
 *     requested, under any of their names.
 * 2.  A role that is restricted to operators, effects or capabilities commands no workflow that uses others, itself or
 *     by its children at any level, unless its requester may not use them either.
 */
import type { Same } from "../../machines/quorum.ts";
import {
  type AuthContext,
  type Caller,
  isHeldToNames,
  mayUse,
  type NamedKind,
  reachOf,
} from "../contract/auth-context.ts";
import { kernelError } from "../contract/error-codes.ts";
import { KernelErrorException, raise } from "../contract/kernel-error.ts";
import { moduleRef } from "../contract/module-ref.ts";
import type { WorkflowRecord } from "../contract/workflow.ts";
import type { Registry } from "../engine/actors/registry.ts";
import type { LedgerReading } from "../engine/follow/ledger-reader.ts";
import type { Gateway } from "../tiers/t0-foundation/gateway.ts";

export interface ReachParts {
  readonly gateway: Gateway;
  readonly reading: LedgerReading;
  readonly registry: Registry;
  readonly same: Same;
}

export type Reaching = "workflow:cancel" | "workflow:retry" | "workflow:pause" | "gate:comment";

const reachRef = moduleRef(5, "ego", "require_reach");

/**
 * Checks the rights of a caller over a workflow. @throws KernelErrorException T5_AUTHN_FAILED, T5_AUTHZ_FORBIDDEN,
 * T4_WORKFLOW_NOT_FOUND.
 */
export async function requireReach(
  { gateway, reading, registry, same }: ReachParts,
  workflowId: string,
  { caller, scope }: { readonly caller: Caller; readonly scope: Reaching },
): Promise<void> {
  const auth = (await gateway.authorize(caller, scope)) as AuthContext;
  const isOwn = reachOf(auth.scopes, scope) === "own";
  if (!isOwn && !isHeldToNames(auth)) return;
  const record = await reading.readWorkflowState(workflowId, caller);
  const { requesters } = record;
  if (isOwn && !requesters.some((one) => same(one, caller.principal)))
    forbid(`role ${auth.role} has ${scope}:own, and somebody else asked for ${workflowId}`, { scope: `${scope}:own` });
  if (!isHeldToNames(auth)) return;
  for await (const one of withChildren(reading, record))
    for (const [kind, name] of usesOf(one, registry))
      if (mayUse(record.auth, kind, name) && !mayUse(auth, kind, name))
        forbid(`role ${auth.role} may not use ${kind} ${name}`, { [kind]: name, role: auth.role });
}

/** Reads a workflow and its children at every level, one after another. */
async function* withChildren(reading: LedgerReading, record: WorkflowRecord): AsyncIterable<WorkflowRecord> {
  yield record;
  for (const { child } of record.steps.values())
    if (child !== null) yield* withChildren(reading, await reading.readWorkflowState(child.workflow_id));
}

/**
 * Returns what the work uses: its capability, and the operators that it may call with their effects. These are those of
 * its package, or of its plan if the package is not registered here.
 */
function usesOf(record: WorkflowRecord, registry: Registry): readonly (readonly [NamedKind, string])[] {
  const operators = operatorsOf(record, registry).flatMap((name) => [
    ["operator", name] as const,
    ["effect", registry.findOperator(name)?.metadata.effect ?? "none"] as const,
  ]);
  return [["capability", record.intent.type], ...operators];
}

function operatorsOf({ intent, plan }: WorkflowRecord, registry: Registry): readonly string[] {
  try {
    const { operators } = registry.getCapability(intent.type, intent.version);
    return operators.map((listed) => (typeof listed === "string" ? listed : listed.metadata.name));
  } catch (thrown) {
    if (!(thrown instanceof KernelErrorException)) throw thrown;
    return (plan?.steps ?? []).map(({ operator }) => operator);
  }
}

const forbid = (message: string, detail: Readonly<Record<string, string>>): never =>
  raise(kernelError("T5_AUTHZ_FORBIDDEN", message, reachRef, { detail }));
