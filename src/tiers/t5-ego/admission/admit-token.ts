/**
 * May a token run: capability, then governor, then the token's own budget (seed 001; C-23).
 *
 * Owns: the order of the three, the arithmetic of ceilings, and the details that tell of it. Never: keeps the accounts;
 * they come in and go out as plain data.
 * A1  All checks first, then one commit: a refusal leaves every counter as it was.
 * A2  What would exceed a ceiling is refused, what reaches it exactly is not. A ceiling of null ends where counting in
 *     whole numbers does.
 * A3  A request is refused as a whole, with the first resource that it does not fit.
 * A4  Accounts are frozen: who reads them cannot change them.
 */
import type { Admission, AdmissionRefusal, AdmissionRequest, AdmissionState } from "../../../contract/admission.ts";
import { deepFreeze } from "../../../contract/json.ts";
import type { CapabilityEntry, CapabilityHandle, GovernorUsage, ResourceRequest } from "../../../contract/token.ts";

/** Pure: the state that comes in is not touched; take the one of an admission in its place. */
export function admitToken(token: AdmissionRequest, state: AdmissionState): Admission {
  return checkToken(token, state) ?? commit(token, state);
}

/** All checks, and nothing after them; null where the token may run. */
export const checkToken = (token: AdmissionRequest, state: AdmissionState): AdmissionRefusal | null =>
  checkCapability(token, state) ?? checkResources(token, state) ?? checkBudget(token);

const left = (limit: number | null, consumed: number): number => (limit ?? Number.MAX_SAFE_INTEGER) - consumed;

function checkCapability({ capability, cost }: AdmissionRequest, state: AdmissionState): AdmissionRefusal | null {
  if (capability === null) return null;
  const entry = state.capabilities.get(capability);
  const refuse = (detail: Extract<AdmissionRefusal, { kind: "capability_violation" }>["detail"]): AdmissionRefusal => ({
    admitted: false,
    kind: "capability_violation",
    detail,
  });
  if (entry === undefined) return refuse({ error: "not_found", capability_handle: capability });
  const { limits, usage } = entry;
  const named = { capability_handle: capability, capability_name: entry.name };
  const calls = left(limits.max_invocations, usage.invocations);
  if (calls < 1) return refuse({ error: "invocation_budget_exceeded", ...named, attempted: 1, remaining: calls });
  const tokens = left(limits.max_tokens, usage.tokens);
  if (tokens < cost) return refuse({ error: "token_budget_exceeded", ...named, attempted: cost, remaining: tokens });
  return null;
}

/** Each resource, in the order in which it is asked for, with the field of a request that asks for it. */
export const governedResources = [
  ["cpu", "cpu_time"],
  ["memory", "memory_bytes"],
  ["network", "network_bytes"],
  ["tokens", "tokens"],
] as const satisfies readonly (readonly [keyof GovernorUsage, keyof ResourceRequest])[];

function checkResources({ resources }: AdmissionRequest, { governor }: AdmissionState): AdmissionRefusal | null {
  for (const [resource, field] of governedResources) {
    const attempted = resources[field];
    const remaining = left(governor[resource].limit, governor[resource].consumed);
    if (attempted <= remaining) continue;
    const detail = { error: "resource_budget_exceeded", resource, attempted, remaining } as const;
    return { admitted: false, kind: "resource_violation", detail };
  }
  return null;
}

function checkBudget({ cost, budget }: AdmissionRequest): AdmissionRefusal | null {
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
