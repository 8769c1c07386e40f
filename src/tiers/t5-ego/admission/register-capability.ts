/**
 * The registered capabilities and the governor's accounts, before the first token.
 *
 * Owns: the handle that a capability gets. Never: counts (admit-token.ts does).
 * 1.  Handles are 1, 2, 3 …; a name keeps its handle, and nothing is ever removed.
 * 2.  Registering a name again with other limits is refused: a ceiling never changes while it is in use.
 */
import type { AdmissionState } from "../../../contract/admission.ts";
import { canonicalJson } from "../../../contract/digest.ts";
import { kernelError } from "../../../contract/error-codes.ts";
import { deepFreeze } from "../../../contract/json.ts";
import { raise } from "../../../contract/kernel-error.ts";
import { readStrictly } from "../../../contract/known-keys.ts";
import { moduleRef } from "../../../contract/module-ref.ts";
import type { CapabilityHandle, CapabilityLimits, GovernorLimits } from "../../../contract/token.ts";
import { CapabilityEntry } from "../../../contract/token.ts";

const registryRef = moduleRef(5, "capability_registry", "register_capability");

/** Creates the state with nothing registered and nothing used. */
export function createAdmission(limits: GovernorLimits): AdmissionState {
  const account = (limit: number | null) => ({ limit, consumed: 0 });
  return {
    capabilities: new Map(),
    governor: deepFreeze({
      cpu: account(limits.cpu_time),
      memory: account(limits.memory_bytes),
      network: account(limits.network_bytes),
      tokens: account(limits.tokens),
    }),
  };
}

/**
 * Returns the state with the capability registered, and its handle.
 * @throws KernelErrorException (input) for a bad name or limit, and for a known name with other limits.
 */
export function registerCapability(
  state: AdmissionState,
  name: string,
  limits: Partial<CapabilityLimits> = {},
): { readonly state: AdmissionState; readonly handle: CapabilityHandle } {
  const entry = readEntry({ handle: state.capabilities.size + 1, name, limits, usage: { invocations: 0, tokens: 0 } });
  const known = [...state.capabilities.values()].find((other) => other.name === entry.name);
  if (known === undefined)
    return {
      handle: entry.handle,
      state: { ...state, capabilities: new Map(state.capabilities).set(entry.handle, entry) },
    };
  if (canonicalJson(known.limits) !== canonicalJson(entry.limits)) refuse(`${entry.name} has other limits already`);
  return { handle: known.handle, state };
}

function readEntry(entry: unknown): CapabilityEntry {
  return deepFreeze(
    readStrictly(CapabilityEntry, entry, { what: "a capability cannot be registered", source: registryRef }),
  );
}

function refuse(reason: string): never {
  raise(kernelError("T0_VALIDATION_SCHEMA_MISMATCH", `a capability cannot be registered: ${reason}`, registryRef));
}
