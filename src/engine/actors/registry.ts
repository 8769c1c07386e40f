/**
 * The registry: capability packages and operators by name and version. The kernel holds no list of its own (REG-04).
 *
 * Owns: the registered definitions, frozen. Never: interprets them.
 * 1.  A name without a version resolves to the newest; a workflow keeps the version it was planned with.
 * 2.  Registering a name and version again with another definition is refused. A refused package is not registered; its
 *     operators that were accepted before stay registered.
 * 3.  An operator is copied as it is registered; later changes by its maker have no effect here.
 */
import { type CapabilityDefinition, CapabilityPackage, capabilityRef } from "../../contract/capability.ts";
import { raise } from "../../contract/error.ts";
import { kernelError } from "../../contract/error-codes.ts";
import { readStrictly } from "../../contract/known-keys.ts";
import { moduleRef } from "../../contract/module-ref.ts";
import type { Operator, OperatorMetadata, RetrievalProvider } from "../../contract/operator.ts";
import type { StandardSchema } from "../../contract/standard-schema.ts";
import { isStandard, toZod, toZods } from "../../contract/to-zod.ts";
import type { CapabilityLimits } from "../../contract/token.ts";
import { closeOperator } from "../../define/define-operator.ts";

export interface Registry {
  readonly registerCapability: (capability: CapabilityDefinition) => void;
  readonly registerOperator: (operator: Operator) => OperatorMetadata;
  /** @throws KernelErrorException T1_NORMALIZE_UNKNOWN_INTENT. */
  readonly getCapability: (intentType: string, version?: string) => CapabilityDefinition;
  readonly findOperator: (name: string, version?: string) => Operator | null;
  readonly capabilities: () => readonly CapabilityDefinition[];
  readonly operators: () => readonly Operator[];
  /** Operator names by declared skill capability. */
  readonly capIndex: (capability: string) => readonly string[];
  /** Returns whether the capability's list names the operator. */
  readonly mayUse: (capability: CapabilityDefinition, operator: string) => boolean;
  /** The retrieval provider, for operators that declare `deep_research` or `reasoning` (SKL-03). */
  readonly retrievalFor: (operator: Operator) => RetrievalProvider | undefined;
}

const normalizerRef = moduleRef(1, "normalizer", "normalize");
const registryRef = moduleRef(5, "registry", "register");
const retrievalCapabilities: ReadonlySet<string> = new Set(["deep_research", "reasoning"]);

export interface RegistryOptions {
  readonly retrieval?: RetrievalProvider | undefined;
  /** Called with each name and its ceilings before the name is registered. @throws to refuse it. */
  readonly registerCeilings?: (name: string, limits: CapabilityLimits) => void;
}

export function createRegistry({ retrieval, registerCeilings }: RegistryOptions = {}): Registry {
  const capabilities = createVersions<CapabilityDefinition>("capability");
  const operators = createVersions<Operator>("operator");
  const index = new Map<string, string[]>();

  const known = new WeakMap<Operator, Operator>();
  const adopted = new WeakMap<CapabilityDefinition, CapabilityDefinition>();
  const registerOperator = (given: Operator): OperatorMetadata => {
    const operator = known.get(given) ?? closeOperator(given);
    const { name, version, capabilities: skills, limits } = operator.metadata;
    const isNew = operators.isNew(name, version, operator);
    registerCeilings?.(name, limits);
    if (!isNew) return operator.metadata;
    operators.add(name, version, operator);
    known.set(given, operator);
    for (const skill of skills) index.set(skill, [...new Set([...(index.get(skill) ?? []), name])]);
    return operator.metadata;
  };

  return {
    registerOperator,
    registerCapability(given) {
      readStrictly(CapabilityPackage, given, { what: "capability", source: registryRef });
      const capability = adopted.get(given) ?? adoptSchemas(given);
      adopted.set(given, capability);
      const { intentType, version } = capability;
      const { max_invocations, max_tokens } = capability.limits;
      const isNew = capabilities.isNew(intentType, version, capability);
      registerCeilings?.(intentType, { max_invocations, max_tokens });
      for (const operator of capability.operators) if (typeof operator !== "string") registerOperator(operator);
      if (isNew) capabilities.add(intentType, version, capability);
    },
    getCapability(intentType, version) {
      const found = capabilities.get(intentType, version);
      if (found !== null) return found;
      const known = capabilities.all().map((c) => capabilityRef(c.intentType, c.version));
      return raise(
        kernelError(
          "T1_NORMALIZE_UNKNOWN_INTENT",
          `no capability is registered for ${version === undefined ? intentType : capabilityRef(intentType, version)}`,
          normalizerRef,
          { detail: { known } },
        ),
      );
    },
    findOperator: (name, version) => operators.get(name, version),
    capabilities: () => capabilities.all(),
    operators: () => operators.all(),
    capIndex: (capability) => index.get(capability) ?? [],
    mayUse: (capability, operator) =>
      capability.operators.some((o) => (typeof o === "string" ? o : o.metadata.name) === operator),
    retrievalFor: (operator) =>
      operator.metadata.capabilities.some((c) => retrievalCapabilities.has(c)) ? retrieval : undefined,
  };
}

/** Returns a package with zod schemas, which one that a host wrote without `defineCapability` need not have. */
function adoptSchemas(given: CapabilityDefinition): CapabilityDefinition {
  const schemas: readonly StandardSchema[] = [given.input, ...Object.values(given.outcomes)];
  if (!schemas.some(isStandard)) return given;
  return { ...given, input: toZod(given.input), outcomes: toZods(given.outcomes) };
}

interface Versions<T> {
  /** False when this very definition is there already. @throws where another is. */
  readonly isNew: (name: string, version: string, item: T) => boolean;
  readonly add: (name: string, version: string, item: T) => void;
  readonly get: (name: string, version?: string) => T | null;
  readonly all: () => readonly T[];
}

function createVersions<T>(what: string): Versions<T> {
  const byName = new Map<string, Map<string, T>>();
  const newest = new Map<string, { readonly version: string; readonly item: T }>();
  return {
    isNew(name, version, item) {
      const known = byName.get(name)?.get(version);
      if (known === item) return false;
      if (known !== undefined)
        raise(
          kernelError(
            "T0_VALIDATION_SCHEMA_MISMATCH",
            `${what} ${name}@${version} is registered already; give the new one a new version`,
            registryRef,
          ),
        );
      return true;
    },
    add(name, version, item) {
      byName.set(name, new Map(byName.get(name)).set(version, item));
      const before = newest.get(name);
      if (before === undefined || compareVersions(version, before.version) > 0) newest.set(name, { version, item });
    },
    get: (name, version) => (version === undefined ? newest.get(name)?.item : byName.get(name)?.get(version)) ?? null,
    all: () => [...byName.values()].flatMap((versions) => [...versions.values()]),
  };
}

/** Compares versions numerically by part: 1.10 is newer than 1.9. */
function compareVersions(a: string, b: string): number {
  const [left, right] = [a.split("."), b.split(".")];
  for (let i = 0; i < Math.max(left.length, right.length); i += 1) {
    const difference = Number(left[i] ?? 0) - Number(right[i] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}
