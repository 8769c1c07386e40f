/**
 * The facts of a host that deciding reads: options, registered operators and capabilities, and who is one person. Each
 * fact is recorded with the input that read it first, so that a replay reads it from the record.
 *
 * Owns: the form of these facts, written and read. Never: decides when one is recorded (`input-journal.ts`).
 * 1.  A fact holds no more than deciding reads, and leaves out usual values.
 */
import { isSamePrincipal } from "../../../machines/quorum.ts";
import type { CapabilityDefinition } from "../../contract/capability.ts";
import { type KernelError, KernelErrorException } from "../../contract/error.ts";
import type { PrincipalRef } from "../../contract/gate-vote.ts";
import type { Json, JsonObject } from "../../contract/json.ts";
import { type Operator, OperatorMetadata, retryPolicies } from "../../contract/operator.ts";
import { PackageLimits } from "../../contract/token.ts";
import { defaultLimits } from "../../engine/actors/runtime.ts";
import { errorOf } from "../../engine/actors/within.ts";
import { decidingLimits, oodaRef, type Settings } from "./decide/run/run.ts";

/** Receives a fact as it was read: `value` shows whether it has changed, `write` returns its JSON. */
export type ReadFact = (name: string, value: unknown, write: () => Json) => void;

/** The value of a fact, or the error that reading it raises. */
type Fact<T> = { readonly value: T } | { readonly error: KernelError };

/** Settings whose facts are reported as deciding reads them. */
export function reportFacts(settings: Settings, read: ReadFact): Settings {
  const { registry, same, tellsPeople } = settings;
  return {
    ...settings,
    registry: {
      ...registry,
      findOperator(name, version) {
        const operator = registry.findOperator(name, version);
        read(operatorName(name, version), operator, () => writeOperator(operator, version));
        return operator;
      },
      getCapability(type, version) {
        const capability = attempt(() => registry.getCapability(type, version));
        const fact = "value" in capability ? capability.value : capability.error.code;
        read(capabilityName(type, version), fact, () => writeCapability(capability));
        return requireRead(capability);
      },
    },
    same: tellsPeople ? reportPersons(same, read) : same,
    haltsOn: reportHalts(settings.haltsOn, read),
  };
}

/** Reports the halts that concern the workflow. Nothing is recorded while there are none. */
function reportHalts(haltsOn: Settings["haltsOn"], read: ReadFact): Settings["haltsOn"] {
  let isReported = false;
  return (tenantId, intent) => {
    const met = haltsOn(tenantId, intent);
    if (met.length > 0 || isReported)
      read(haltsName, met.map(({ halt_id }) => halt_id).join(), () => met as unknown as Json);
    isReported ||= met.length > 0;
    return met;
  };
}

const haltsName = "halts";

function reportPersons(same: Settings["same"], read: ReadFact): Settings["same"] {
  const reported = new Set<string>();
  return (a, b) => {
    const fact = attempt(() => same(a, b));
    const name = personsName(a, b);
    const isUsual = "value" in fact && fact.value === isSamePrincipal(a, b);
    if (!isUsual || reported.has(name)) read(name, "value" in fact ? fact.value : fact.error.code, () => fact as Json);
    if (!isUsual) reported.add(name);
    return requireRead(fact);
  };
}

const operatorName = (name: string, version = ""): string => `operator ${name}@${version}`;
const capabilityName = (type: string, version = ""): string => `capability ${type}@${version}`;
const personsName = (a: Partial<PrincipalRef>, b: Partial<PrincipalRef>): string =>
  `persons ${JSON.stringify([a.type ?? null, a.id, b.type ?? null, b.id])}`;

function attempt<T>(read: () => T): Fact<T> {
  try {
    return { value: read() };
  } catch (thrown) {
    return { error: errorOf(thrown, "T0_TIER_CRASHED", oodaRef("read")) };
  }
}

function requireRead<T>(fact: Fact<T>): T {
  if ("value" in fact) return fact.value;
  throw new KernelErrorException(fact.error);
}

// --- the form of facts ---

const usualMetadata = OperatorMetadata.parse({ name: "Usual" });
const readOfMetadata = ["effect", "idempotent", "timeout_sec", "retry", "policy_tags", "resources"] as const;

const isSameText = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other);

/** Returns the members that differ from the usual ones. */
const unlike = <T extends object>(one: T, usual: T, names: readonly (keyof T)[]): JsonObject =>
  Object.fromEntries(names.filter((name) => !isSameText(one[name], usual[name])).map((name) => [name, one[name]]));

function writeOperator(operator: Operator | null, version: string | undefined): Json {
  if (operator === null) return null;
  const { metadata, check, preview, present, doubt } = operator;
  return {
    ...(version === undefined && { version: metadata.version }),
    ...unlike(metadata, usualMetadata, readOfMetadata),
    ...(check != null && { check: true }),
    ...(preview !== null && { preview: true }),
    ...(present != null && { present: true }),
    ...(doubt?.roles !== undefined && { doubt: { roles: doubt.roles } }),
  } as Json;
}

const unused = (): null => null;

function readOperator(name: string, version: string | undefined, fact: Json): Operator | null {
  if (fact === null) return null;
  const { check, preview, present, doubt, ...metadata } = fact as JsonObject;
  return {
    metadata: { ...usualMetadata, name, version, ...metadata },
    check: check === true ? unused : null,
    preview: preview === true ? unused : null,
    present: present === true ? unused : null,
    ...(doubt !== undefined && { doubt }),
  } as unknown as Operator;
}

const usualCapability = { uiActions: {}, limits: PackageLimits.parse({}) };

const writeCapability = (fact: Fact<CapabilityDefinition>): Json =>
  ("error" in fact
    ? fact
    : {
        value: unlike<Partial<CapabilityDefinition>>(fact.value, usualCapability, ["uiActions", "limits"]),
      }) as unknown as Json;

const usualSettings = {
  holdsStreams: false,
  checkAllOutput: false,
  maxCost: null,
  perToken: null,
  reserves: false,
  retryPolicies,
  tellsPeople: false,
} satisfies Partial<Settings>;
const phases = ["before", "after", "onError"] as const;

export const settingsName = "settings";

export function writeSettings(settings: Settings): Json {
  const { policyVersion, limits, middleware } = settings;
  const own = unlike<Partial<Settings>>(settings, usualSettings, Object.keys(usualSettings) as never);
  const ownLimits = unlike(limits, defaultLimits, decidingLimits);
  const hooks = middleware.map((one) => ({
    name: one.name,
    phases: phases.filter((phase) => one[phase] !== undefined),
  }));
  return {
    policyVersion,
    ...own,
    ...(Object.keys(ownLimits).length > 0 && { limits: ownLimits }),
    ...(hooks.length > 0 && { middleware: hooks }),
  } as unknown as Json;
}

/** Returns settings that read recorded facts. `factOf` returns a fact by its name. */
export function settingsOf(
  factOf: (name: string) => Json | undefined,
  raiseUnknown: (name: string) => never,
): Settings {
  const known = (name: string): Json => factOf(name) ?? (factOf(name) === null ? null : raiseUnknown(name));
  const given = known(settingsName) as unknown as Partial<Settings> & { readonly policyVersion: string };
  const hooks = (given.middleware ?? []) as unknown as readonly { readonly name: string; readonly phases: string[] }[];
  return {
    ...usualSettings,
    ...given,
    durability: "full",
    limits: { ...defaultLimits, ...given.limits },
    middleware: hooks.map(({ name, phases: own }) => ({
      name,
      ...Object.fromEntries(own.map((phase) => [phase, unused])),
    })) as unknown as Settings["middleware"],
    haltsOn: () => (factOf(haltsName) ?? []) as unknown as ReturnType<Settings["haltsOn"]>,
    registry: {
      findOperator: (name, version) => readOperator(name, version, known(operatorName(name, version))),
      getCapability(type, version) {
        const fact = known(capabilityName(type, version)) as unknown as Fact<Partial<CapabilityDefinition>>;
        return { ...usualCapability, ...requireRead(fact) } as unknown as CapabilityDefinition;
      },
      retrievalFor: () => undefined,
    },
    same(a, b) {
      const fact = factOf(personsName(a, b));
      return fact === undefined ? isSamePrincipal(a, b) : requireRead(fact as unknown as Fact<boolean>);
    },
  };
}
