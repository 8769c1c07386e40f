/**
 * What tokens have spent, by their events alone (EVT-15): nobody need ask the registry or the governor.
 *
 * Owns: the sums. Never: limits, which are no spend. The `started` events say all of it, since a refusal costs nothing.
 */
import type { StartedDetail } from "../../contract/admission.ts";
import type { CapabilityHandle, CapabilityUsage, GovernorUsage, TokenEvent } from "../../contract/token.ts";

export interface TokenSpend {
  readonly capabilities: ReadonlyMap<CapabilityHandle, CapabilityUsage & { readonly name: string }>;
  readonly resources: Readonly<Record<keyof GovernorUsage, number>>;
}

/** @param events in any order, of one kernel; those of other kinds count nothing. */
export function foldTokenSpend(events: Iterable<TokenEvent>): TokenSpend {
  const capabilities = new Map<CapabilityHandle, CapabilityUsage & { readonly name: string }>();
  const resources = { cpu: 0, memory: 0, network: 0, tokens: 0 };
  for (const { kind, detail } of events) {
    if (kind !== "started") continue;
    const started = detail as unknown as StartedDetail;
    const { cpu_time, memory_bytes, network_bytes, tokens } = started.resources.requested;
    resources.cpu += cpu_time;
    resources.memory += memory_bytes;
    resources.network += network_bytes;
    resources.tokens += tokens;
    addCall(capabilities, started);
  }
  return { capabilities, resources };
}

function addCall(
  capabilities: Map<CapabilityHandle, CapabilityUsage & { readonly name: string }>,
  { capability_handle: handle, capability_name: name = "", tokens_consumed = 0 }: StartedDetail,
): void {
  if (handle === undefined) return;
  const { invocations, tokens } = capabilities.get(handle) ?? { invocations: 0, tokens: 0 };
  capabilities.set(handle, { name, invocations: invocations + 1, tokens: tokens + tokens_consumed });
}
