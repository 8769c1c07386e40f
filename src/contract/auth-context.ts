/** The rights of a caller, decided once per call by T5. */
import { z } from "zod";
import { kernelError } from "./error-codes.ts";
import { PrincipalId, TenantId } from "./ids.ts";
import { raise } from "./kernel-error.ts";
import { explainKeys } from "./known-keys.ts";
import { type ModuleRef, moduleRef } from "./module-ref.ts";

/**
 * The scopes that public operations require; hosts add scopes of their own (`operator:<name>`, `effect:<effect>`, …).
 */
export const publicScopes = [
  "intent:submit",
  "workflow:execute",
  "outcome:read",
  "gate:approve",
  "event:emit",
] as const;

/** The scopes of an agent's credential: to submit, run and read. Gates are for people, events for their sources. */
export const agentScopes = publicScopes.filter((scope) => scope !== "gate:approve" && scope !== "event:emit");

/** The scopes of the token of a person who decides on what others submit. */
export const approverScopes = [
  "gate:approve",
  "outcome:read",
] as const satisfies readonly (typeof publicScopes)[number][];

export const DataPolicy = z.object({
  /** Whether personal data may be used; true by default. */
  allow_pii: z.boolean().default(true),
  /** Whether data may be sent outside; false by default. */
  allow_external_send: z.boolean().default(false),
});
export type DataPolicy = z.infer<typeof DataPolicy>;

const Context = z.object({
  tenant_id: TenantId,
  principal_id: PrincipalId,
  principal_type: z.string().default("user"),
  role: z.string(),
  scopes: z.array(z.string()),
  data_policy: DataPolicy,
});

/** AuthContext; on input `data_access_policy` is read as `data_policy`. */
export const AuthContext = z.preprocess((raw) => {
  if (typeof raw !== "object" || raw === null || !("data_access_policy" in raw)) return raw;
  const { data_access_policy, ...rest } = raw as Record<string, unknown>;
  return { data_policy: data_access_policy, ...rest };
}, Context);
export type AuthContext = z.infer<typeof Context>;

/** The caller of an in-process read or command; absent means the embedding host itself. */
export const Caller = z.strictObject(
  {
    /** The tenant whose workflows the call concerns. */
    tenant_id: TenantId,
    /** The principal who calls. */
    principal: z.strictObject({
      /** Such as `user`, `agent` or `service`. */
      type: z.string(),
      /** Unique within its type. */
      id: PrincipalId,
      /** The role of the caller: a name of the role table. */
      role: z.string(),
    }),
  },
  {
    error: (issue) =>
      explainKeys(issue) ?? "must be an object with tenant_id and principal; the embedding host itself gives no caller",
  },
);
export type Caller = z.infer<typeof Caller> & {
  /** Never present: the kernel judges roles. The edge that reads a credential checks the scopes that narrow it. */
  readonly scopes?: never;
};

const callerRef = moduleRef(5, "identity", "caller");

/**
 * Returns the tenant whose workflows a caller sees; undefined for the embedding host, which passes no caller and sees
 * all.
 * @throws KernelErrorException T0_VALIDATION_SCHEMA_MISMATCH for a caller without a tenant: it is not the host.
 */
export function tenantOf(caller: Caller | undefined): Caller["tenant_id"] | undefined {
  if (caller === undefined) return undefined;
  const read = TenantId.safeParse((caller as Partial<Caller> | null)?.tenant_id);
  if (read.success) return read.data;
  const message = "caller: tenant_id must be a text or a whole number; the embedding host itself gives no caller";
  return raise(kernelError("T0_VALIDATION_SCHEMA_MISMATCH", message, callerRef));
}

/** A caller with a credential. Without `scopes` they may do what the kernel grants the role. */
export const ScopedCaller = Caller.extend({
  /** The scopes of the credential; they only narrow what the role may do. */
  scopes: z.array(z.string()).readonly().optional(),
});
export type ScopedCaller = z.infer<typeof ScopedCaller>;

/** Returns the caller as the kernel's methods take it, without the scopes of the credential. */
export const withoutScopes = ({ tenant_id, principal }: ScopedCaller): Caller => ({ tenant_id, principal });

/** Scopes that narrow a wider one: a role that names none of them has them all through the wider scope. */
const widerScopes = {
  "workflow:cancel": "workflow:execute",
  "workflow:retry": "workflow:execute",
  "workflow:pause": "workflow:execute",
  "gate:settle": "gate:approve",
  "gate:comment": "outcome:read",
  "schedule:read": "outcome:read",
  "schedule:write": "intent:submit",
} as const satisfies Readonly<Record<string, (typeof publicScopes)[number]>>;
export type NarrowScope = keyof typeof widerScopes;

const isNarrow = (scope: string): scope is NarrowScope => Object.hasOwn(widerScopes, scope);

/**
 * Returns how far a narrow scope reaches: `any` for every workflow of the tenant, `own` for those that the principal
 * has requested, null for none. A role that names the scope, or one below it such as `workflow:cancel:own`, is
 * restricted to what it names.
 */
export function reachOf(scopes: readonly string[], scope: NarrowScope): "any" | "own" | null {
  const named = wordsOf(scopes, scope);
  if (named.length === 0) return hasScope(scopes, widerScopes[scope]) ? "any" : null;
  if (named.includes(scope) || named.includes(`${scope}:*`)) return "any";
  return named.includes(`${scope}:own`) ? "own" : null;
}

/** Returns the scopes of a role that name a narrow scope. */
const wordsOf = (scopes: readonly string[], scope: NarrowScope): readonly string[] =>
  scopes.filter((one) => one === scope || one.startsWith(`${scope}:`));

/** Returns the missing scope for a message: the wider one if the role does not name the narrow one. */
export const lackedScope = (scopes: readonly string[], needs: string): string =>
  isNarrow(needs) && wordsOf(scopes, needs).length === 0 ? widerScopes[needs] : needs;

/** Returns whether these scopes satisfy a required scope, for some workflow at least. */
export const grantsScope = (scopes: readonly string[], needs: string): boolean =>
  isNarrow(needs) ? reachOf(scopes, needs) !== null : hasScope(scopes, needs);

/**
 * Returns whether a role is restricted to operators, effects or capabilities by name. Other roles need no check per
 * name.
 */
export const isHeldToNames = ({ scopes }: Pick<AuthContext, "scopes">): boolean =>
  Object.values(namePrefixes).some((prefix) => scopes.some((scope) => scope.startsWith(prefix)));

const namePrefixes = { effect: "effect:", operator: "operator:", capability: "capability:" } as const;
export type NamedKind = keyof typeof namePrefixes;

/**
 * Returns whether a principal may use this name of this kind. A role that names none of the kind is not restricted in
 * it.
 */
export function mayUse({ scopes }: Pick<AuthContext, "scopes">, kind: NamedKind, name: string): boolean {
  const prefix = namePrefixes[kind];
  const named = scopes.filter((scope) => scope.startsWith(prefix));
  return named.length === 0 || hasScope(named, prefix + name) || scopes.includes("*");
}

/** The scope that each command needs, of the credential and of the role, at every face. */
export const commandScopes = {
  submit: "intent:submit",
  gate: "gate:approve",
  withdraw: "gate:approve",
  delegate: "gate:approve",
  note: "gate:comment",
  retry: "workflow:retry",
  cancel: "workflow:cancel",
  pause: "workflow:pause",
  halt: "halt:write",
  grant: "gate:approve",
  standIn: "gate:approve",
  read: "outcome:read",
  emit: "event:emit",
  readSchedules: "schedule:read",
  schedule: "schedule:write",
} as const satisfies Readonly<Record<string, (typeof publicScopes)[number] | NarrowScope | "halt:write">>;

/** A scope that an operation of the kernel needs. */
export type CommandScope = (typeof commandScopes)[keyof typeof commandScopes];

/**
 * Checks the scopes of the credential itself; the kernel checks those of the role. Ownership of a workflow is checked
 * for roles only: a credential that is restricted to its principal's own workflows is refused. @throws
 * T5_AUTHZ_FORBIDDEN.
 */
export function requireCredentialScope({ scopes }: ScopedCaller, needs: string, source: ModuleRef): void {
  if (scopes === undefined || (isNarrow(needs) ? reachOf(scopes, needs) === "any" : hasScope(scopes, needs))) return;
  const lacked = lackedScope(scopes, needs);
  const message = `the credential lacks the scope ${lacked}`;
  raise(kernelError("T5_AUTHZ_FORBIDDEN", message, source, { detail: { needs: lacked } }));
}

/** Returns whether a scope is granted: by its own name, by a `prefix:*` or by `*`. */
export function hasScope(scopes: readonly string[], wanted: string): boolean {
  return scopes.some((s) => s === wanted || s === "*" || (s.endsWith(":*") && wanted.startsWith(s.slice(0, -1))));
}
