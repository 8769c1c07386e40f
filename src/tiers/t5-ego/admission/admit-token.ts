/**
 * The admission of a token: capability, then governor, then the token's own budget.
 *
 * Owns: the order of the three, the arithmetic of ceilings, and the details of the answer. Never: keeps the accounts;
 * they are passed and returned as plain data.
 * 1.  All checks come first, then one commit: a refusal leaves every counter unchanged.
 * 2.  A request that would exceed a ceiling is refused, one that exactly reaches it is not. A null ceiling is the
 *     largest exact whole number.
 * 3.  A request is refused as a whole, with the first resource that it exceeds.
 * 4.  Accounts are frozen: readers cannot change them.
 */
import type { Admission, AdmissionRefusal, AdmissionRequest, AdmissionState } from "../../../contract/admission.ts";
import { deepFreeze } from "../../../contract/json.ts";
import type {
  CapabilityEntry,
  CapabilityHandle,
  CapabilityUsage,
  GovernorUsage,
  ResourceRequest,
  TokenBudget,
} from "../../../contract/token.ts";

/** Admits a token. It is pure: the given state is not changed; use the state of the admission afterwards. */
export function admitToken(token: AdmissionRequest, state: AdmissionState): Admission {
  return checkToken(token, state) ?? commit(token, state);
}

/** Runs all checks and nothing else; null if the token may run. */
function checkToken(
  { capability, cost, budget, resources }: AdmissionRequest,
  { capabilities, governor }: AdmissionState,
): AdmissionRefusal | null {
  return (
    checkCapability(capability, capabilities, cost) ??
    checkResources(resources, governor, consumedIn(governor)) ??
    checkBudget(cost, budget)
  );
}

const left = (limit: number | null, consumed: number): number => (limit ?? Number.MAX_SAFE_INTEGER) - consumed;

const refuseCapability = (
  detail: Extract<AdmissionRefusal, { kind: "capability_violation" }>["detail"],
): AdmissionRefusal => ({ admitted: false, kind: "capability_violation", detail });

function checkCapability(
  handle: CapabilityHandle | null,
  capabilities: AdmissionState["capabilities"],
  cost: number,
): AdmissionRefusal | null {
  if (handle === null) return null;
  const entry = capabilities.get(handle);
  if (entry === undefined) return refuseCapability({ error: "not_found", capability_handle: handle });
  return checkCeilings(entry, entry.usage, cost);
}

/** Checks a capability's own ceilings. */
export function checkCeilings(
  { handle, name, limits }: CapabilityEntry,
  usage: CapabilityUsage,
  cost: number,
): AdmissionRefusal | null {
  const calls = left(limits.max_invocations, usage.invocations);
  const tokens = left(limits.max_tokens, usage.tokens);
  if (calls >= 1 && tokens >= cost) return null;
  const named = { capability_handle: handle, capability_name: name };
  return refuseCapability(
    calls < 1
      ? { error: "invocation_budget_exceeded", ...named, attempted: 1, remaining: calls }
      : { error: "token_budget_exceeded", ...named, attempted: cost, remaining: tokens },
  );
}

/** Each resource, in the order in which it is asked for, with the field of a request that asks for it. */
export const governedResources = [
  ["cpu", "cpu_time"],
  ["memory", "memory_bytes"],
  ["network", "network_bytes"],
  ["tokens", "tokens"],
] as const satisfies readonly (readonly [keyof GovernorUsage, keyof ResourceRequest])[];

const consumedIn = ({ cpu, memory, network, tokens }: GovernorUsage): ResourceRequest => ({
  cpu_time: cpu.consumed,
  memory_bytes: memory.consumed,
  network_bytes: network.consumed,
  tokens: tokens.consumed,
});

/** Checks the ceilings of the shared resources. */
export function checkResources(
  asked: ResourceRequest,
  governor: GovernorUsage,
  used: ResourceRequest,
): AdmissionRefusal | null {
  for (const [resource, field] of governedResources) {
    const attempted = asked[field];
    const remaining = left(governor[resource].limit, used[field]);
    if (attempted <= remaining) continue;
    const detail = { error: "resource_budget_exceeded", resource, attempted, remaining } as const;
    return { admitted: false, kind: "resource_violation", detail };
  }
  return null;
}

/** Checks a token's own ceiling. */
export function checkBudget(cost: number, budget: TokenBudget): AdmissionRefusal | null {
  const remaining = left(budget.limit, budget.consumed);
  if (cost <= remaining) return null;
  return {
    admitted: false,
    kind: "budget_violation",
    detail: { error: "budget_exceeded", attempted: cost, remaining },
  };
}

function commit(token: AdmissionRequest, state: AdmissionState): Admission {
  const { capability, cost, budget, resources } = token;
  const governor = consume(state.governor, resources);
  const capabilities = new Map(state.capabilities);
  const entry = capability === null ? undefined : charge(state, capability, cost);
  if (entry !== undefined) capabilities.set(entry.handle, entry);
  return {
    admitted: true,
    state: { capabilities, governor },
    budget: { ...budget, consumed: budget.consumed + cost },
    detail: {
      resources: { requested: resources, usage: governor },
      ...(entry === undefined ? {} : attribute(entry, cost)),
    },
  };
}

function consume(governor: GovernorUsage, request: ResourceRequest): GovernorUsage {
  const account = (resource: keyof GovernorUsage, asked: number) => ({
    limit: governor[resource].limit,
    consumed: governor[resource].consumed + asked,
  });
  return deepFreeze({
    cpu: account("cpu", request.cpu_time),
    memory: account("memory", request.memory_bytes),
    network: account("network", request.network_bytes),
    tokens: account("tokens", request.tokens),
  });
}

function charge(state: AdmissionState, handle: CapabilityHandle, cost: number): CapabilityEntry | undefined {
  const entry = state.capabilities.get(handle);
  if (entry === undefined) return undefined;
  const { invocations, tokens } = entry.usage;
  return deepFreeze({ ...entry, usage: { invocations: invocations + 1, tokens: tokens + cost } });
}

const attribute = ({ handle, name, usage }: CapabilityEntry, cost: number) => ({
  capability_handle: handle,
  capability_name: name,
  invocations: usage.invocations,
  tokens_total: usage.tokens,
  tokens_consumed: cost,
});
