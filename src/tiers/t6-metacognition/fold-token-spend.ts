/**
 * The usage of tokens, from their events alone (EVT-15), without the registry or the governor.
 *
 * Owns: the sums. Never: limits, which are no usage. The `started` events hold all of it, because a refusal costs
 * nothing.
 */
import type { StartedDetail } from "../../contract/admission.ts";
import type { CapabilityEntry, CapabilityHandle, GovernorUsage, TokenEvent } from "../../contract/token.ts";

/** The usage of a capability; no event holds its limits. */
export type CapabilitySpend = Pick<CapabilityEntry, "handle" | "name" | "usage">;

/** Plain JSON; capabilities in the order of their handles. */
export interface TokenSpend {
  readonly capabilities: readonly CapabilitySpend[];
  readonly resources: Readonly<Record<keyof GovernorUsage, number>>;
}

/**
 * Returns the usage in these events, by capability and resource. @param events in any order, of one kernel; other kinds
 * are ignored.
 */
export function foldTokenSpend(events: Iterable<TokenEvent>): TokenSpend {
  const capabilities = new Map<CapabilityHandle, CapabilitySpend>();
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
  return { capabilities: [...capabilities.values()].sort((a, b) => a.handle - b.handle), resources };
}

function addCall(
  capabilities: Map<CapabilityHandle, CapabilitySpend>,
  { capability_handle: handle, capability_name: name = "", tokens_consumed = 0 }: StartedDetail,
): void {
  if (handle === undefined) return;
  const { invocations, tokens } = capabilities.get(handle)?.usage ?? { invocations: 0, tokens: 0 };
  const usage = { invocations: invocations + 1, tokens: tokens + tokens_consumed };
  capabilities.set(handle, { handle, name, usage });
}
