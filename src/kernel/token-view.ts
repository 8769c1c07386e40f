/**
 * The tokens of workflows as hosts read them: projections of the committed ledger beside the ceilings of this kernel.
 */
import { type Caller, tenantOf } from "../contract/auth-context.ts";
import { raise } from "../contract/error.ts";
import { kernelError } from "../contract/error-codes.ts";
import { moduleRef } from "../contract/module-ref.ts";
import { type GovernorUsage, tokenEventToJson } from "../contract/token.ts";
import type { LedgerReading } from "../engine/follow/ledger-reader.ts";
import type { LedgerStore } from "../ports/ledger-store.ts";
import { governorOf } from "../tiers/t5-ego/admission/admit-call.ts";
import type { CapabilityRegistry } from "../tiers/t5-ego/admission/capability-registry.ts";
import { projectTokens } from "../tiers/t6-metacognition/project-tokens.ts";
import type { KernelTokens } from "./kernel-tokens.ts";

export interface TokenViewParts {
  readonly store: LedgerStore;
  readonly reading: LedgerReading;
  readonly capabilityRegistry: CapabilityRegistry;
}

export function createTokenView({ store, reading, capabilityRegistry }: TokenViewParts): KernelTokens {
  const events: KernelTokens["events"] = async (workflowId, caller) =>
    projectTokens(await reading.events(workflowId, caller), capabilityRegistry);
  return {
    events,
    toJsonl: async (workflowId, caller) =>
      (await events(workflowId, caller)).map((event) => JSON.stringify(tokenEventToJson(event))).join("\n"),
    async capabilities(workflowId, caller) {
      if (workflowId === undefined) return capabilityRegistry.entries();
      const { used } = await reading.readWorkflowState(workflowId, caller);
      return capabilityRegistry
        .entries()
        .map((entry) => ({ ...entry, usage: used.capabilities.get(entry.name) ?? entry.usage }));
    },
    governor: async (workflowId, caller): Promise<GovernorUsage> =>
      governorOf(capabilityRegistry, (await reading.readWorkflowState(workflowId, caller)).used.resources),
    charges: async (tenantId, caller) => store.chargesOf(requireTenant(tenantId, caller)),
  };
}

function requireTenant(tenantId: string | number, caller: Caller | undefined): string | number {
  if ((tenantOf(caller) ?? tenantId) === tenantId) return tenantId;
  const message = "the budgets of another tenant cannot be read";
  return raise(kernelError("T5_IDENTITY_VIOLATION", message, moduleRef(5, "identity", "authorize")));
}
