/**
 * The kernel's registry of budgeted capabilities: loading a package or an operator adds its name with its ceilings
 * (REG-06). Their usage is counted per workflow, in its record.
 */
import type { AdmissionState } from "../../../contract/admission.ts";
import type { CapabilityEntry, CapabilityHandle, CapabilityLimits, GovernorLimits } from "../../../contract/token.ts";
import { createAdmission, registerCapability } from "./register-capability.ts";

export interface CapabilityRegistry {
  /** @throws KernelErrorException (input) for a name that is there with other limits. */
  readonly put: (name: string, limits: CapabilityLimits) => CapabilityHandle;
  readonly find: (name: string) => CapabilityEntry | null;
  readonly entries: () => readonly CapabilityEntry[];
  readonly governor: AdmissionState["governor"];
}

/** Creates the registry. `overrides` are a host's ceilings by name, which replace those of a definition. */
export function createCapabilityRegistry(
  governor: GovernorLimits,
  overrides: Readonly<Record<string, CapabilityLimits>>,
): CapabilityRegistry {
  let state = createAdmission(governor);
  const byName = new Map<string, CapabilityHandle>();
  return {
    governor: state.governor,
    put(name, limits) {
      const registered = registerCapability(state, name, Object.hasOwn(overrides, name) ? overrides[name] : limits);
      state = registered.state;
      byName.set(name, registered.handle);
      return registered.handle;
    },
    find: (name) => state.capabilities.get(byName.get(name) ?? 0) ?? null,
    entries: () => [...state.capabilities.values()],
  };
}
