/**
 * The admission of a piece of work: capability, governor, token budget, then the scoped budgets; all are checked before
 * anything is reserved.
 */
import type { AdmissionRefusal } from "../../../contract/admission.ts";
import type { Reservation } from "../../../contract/budget.ts";
import { isKernelError, type KernelError } from "../../../contract/error.ts";
import { kernelError } from "../../../contract/error-codes.ts";
import { follow } from "../../../contract/maybe-promise.ts";
import type { CallQuestion, WorkQuestion } from "../../../contract/messages/t5.ts";
import { moduleRef } from "../../../contract/module-ref.ts";
import type { GovernorUsage, ResourceRequest } from "../../../contract/token.ts";
import { checkBudget, checkCeilings, checkResources, governedResources } from "./admit-token.ts";
import type { BudgetLimiter } from "./budget-limiter.ts";
import type { CapabilityRegistry } from "./capability-registry.ts";

const admissionRef = moduleRef(5, "admission", "admit");

/** Returns null if the work fits, else the error that names the exceeded limit. Nothing is reserved. */
export function checkWork(capabilityRegistry: CapabilityRegistry, question: WorkQuestion): KernelError | null {
  const { name, cost, budget, resources, used, token_id } = question;
  const entry = capabilityRegistry.find(name);
  if (entry === null) {
    const detail = { kind: "capability_violation", error: "not_found", capability_name: name, token_id };
    return kernelError("T5_CAPABILITY_NOT_FOUND", `${name} is not registered as a capability`, admissionRef, {
      detail,
    });
  }
  const refusal =
    checkCeilings(entry, used.capability, cost) ??
    checkResources(resources, capabilityRegistry.governor, used.resources) ??
    checkBudget(cost, budget);
  return refusal === null ? null : refusalOf(refusal, question);
}

/** Returns the governor's accounts of one workflow. */
export const governorOf = ({ governor }: CapabilityRegistry, used: ResourceRequest): GovernorUsage => ({
  cpu: { limit: governor.cpu.limit, consumed: used.cpu_time },
  memory: { limit: governor.memory.limit, consumed: used.memory_bytes },
  network: { limit: governor.network.limit, consumed: used.network_bytes },
  tokens: { limit: governor.tokens.limit, consumed: used.tokens },
});

function refusalOf({ kind, detail }: AdmissionRefusal, { name, token_id }: WorkQuestion): KernelError {
  const reported = { kind, ...detail, token_id };
  const message = `${name} was not admitted: ${detail.error.replaceAll("_", " ")}`;
  return kernelError("T5_BUDGET_EXHAUSTED", message, admissionRef, { detail: reported });
}

/** Returns whether no ceiling concerns the work: it then fits whatever else is admitted. */
export function isUnlimited(
  { find, governor }: CapabilityRegistry,
  { name, budget, resources }: WorkQuestion,
): boolean {
  const limits = find(name)?.limits;
  if (limits === undefined || limits.max_invocations !== null || limits.max_tokens !== null) return false;
  return budget.limit === null && governedResources.every(([r, f]) => governor[r].limit === null || resources[f] === 0);
}

type Admitted = Reservation | KernelError | null;

/** Returns the reservation for the call, null if no scoped budget concerns it, or the refusal. */
export function admitCall(
  { capabilityRegistry, limiter }: { readonly capabilityRegistry: CapabilityRegistry; readonly limiter: BudgetLimiter },
  question: CallQuestion,
): Admitted | Promise<Admitted> {
  const refusal = checkWork(capabilityRegistry, question);
  if (refusal !== null || limiter.isEmpty) return refusal;
  return follow(limiter.reserve(question.hold, question.who, question.amounts), (reserved) => {
    if (!isKernelError(reserved)) return reserved;
    return { ...reserved, detail: { ...reserved.detail, token_id: question.token_id } };
  });
}
