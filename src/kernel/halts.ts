/**
 * Halts: orders that stop work of a tenant, and their end. They are events of the tenant's own log, in the name of the
 * person who gave them.
 *
 * 1.  The first order of its kind wins: the same filter again gives the halt that holds, and lifting a lifted halt
 *     changes nothing.
 * 2.  An order is answered once it is committed, and this process acts on it.
 */
import { type Caller, commandScopes, tenantOf } from "../contract/auth-context.ts";
import { canonicalJson } from "../contract/digest.ts";
import { raise } from "../contract/error.ts";
import { kernelError } from "../contract/error-codes.ts";
import { draft } from "../contract/event.ts";
import type { HaltFilter, HaltStanding, StoredHalt } from "../contract/halt.ts";
import { HaltRequest, LiftRequest } from "../contract/halt-orders.ts";
import { instantText } from "../contract/instant.ts";
import type { Json } from "../contract/json.ts";
import { readRequest } from "../contract/known-keys.ts";
import { moduleRef } from "../contract/module-ref.ts";
import type { Runtime } from "../engine/actors/runtime.ts";
import { takeJson } from "../engine/actors/take-json.ts";
import type { HaltRegistry } from "../engine/log/halt-registry.ts";
import type { TenantAppend } from "../engine/log/tenant-log.ts";
import type { LedgerStore } from "../ports/ledger-store.ts";
import type { Gateway } from "../tiers/t0-foundation/gateway.ts";
import type { Kernel } from "./kernel-interface.ts";

export interface HaltParts {
  readonly store: Pick<LedgerStore, "halts" | "countHolds">;
  readonly gateway: Gateway;
  readonly runtime: Runtime;
  readonly tenantLog: TenantAppend;
  readonly halts: HaltRegistry;
}

const haltRef = moduleRef(5, "ego", "halt");

export function createHalts(parts: HaltParts): Pick<Kernel, "halt" | "lift" | "halts"> {
  return {
    halt: (request) => setHalt(parts, request),
    lift: (request) => liftHalt(parts, request),
    halts: (tenantId, caller) => listHalts(parts, tenantId, caller),
  };
}

async function setHalt({ store, gateway, runtime, tenantLog, halts }: HaltParts, raw: HaltRequest) {
  const request = readRequest(HaltRequest, takeJson(raw, about), about);
  const { tenant_id, principal: by, of, reason } = request;
  await gateway.authorize({ tenant_id, principal: by }, commandScopes.halt);
  const decide = async () => {
    const known = (await haltsOf(store, tenant_id)).find((halt) => !halt.is_lifted && isSame(halt.of, of));
    if (known !== undefined) return { drafts: [], answer: known.halt_id };
    const halt_id = runtime.ids.next("halt");
    const halt = { halt_id, of, reason, by, at: instantText(runtime.clock.now()) };
    return { drafts: [draft("HALT_SET", { halt })], answer: halt_id };
  };
  const { answer: halt_id } = await tenantLog(tenant_id, decide, by);
  await halts.refresh();
  return { halt_id, status: "halted" } as const;
}

async function liftHalt({ store, gateway, tenantLog, halts }: HaltParts, raw: LiftRequest) {
  const request = readRequest(LiftRequest, takeJson(raw, about), about);
  const { tenant_id, principal: by, halt_id, reason } = request;
  await gateway.authorize({ tenant_id, principal: by }, commandScopes.halt);
  const decide = async () => {
    const known = (await haltsOf(store, tenant_id)).find((halt) => halt.halt_id === halt_id);
    if (known === undefined) return raise(notFound(halt_id));
    const drafts = known.is_lifted ? [] : [draft("HALT_LIFTED", { halt_id, reason, by })];
    return { drafts, answer: null };
  };
  await tenantLog(tenant_id, decide, by);
  await halts.refresh();
  return { halt_id, status: "lifted" } as const;
}

async function listHalts(
  { store, gateway }: HaltParts,
  tenantId: string | number,
  caller: Caller | undefined,
): Promise<readonly HaltStanding[]> {
  await gateway.authorize(caller, commandScopes.read);
  if ((tenantOf(caller) ?? tenantId) !== tenantId)
    raise(kernelError("T5_IDENTITY_VIOLATION", "the halts of another tenant cannot be read", haltRef));
  const standing = (await haltsOf(store, tenantId)).filter(({ is_lifted }) => !is_lifted);
  const holds = new Map((await store.countHolds(tenantId)).map((one) => [one.holder, one]));
  return standing.map(({ halt_id, of, reason, by, at }) => {
    const { workflows = 0, steps = 0 } = holds.get(halt_id) ?? {};
    return { halt_id, of, reason, by, at, held: { workflows, steps } };
  });
}

const about = { what: "request", source: haltRef } as const;

const haltsOf = async (store: HaltParts["store"], tenantId: string | number): Promise<readonly StoredHalt[]> =>
  (await store.halts()).filter(({ tenant_id }) => tenant_id === tenantId);

const isSame = (one: HaltFilter, other: HaltFilter): boolean =>
  canonicalJson(one as Json) === canonicalJson(other as Json);

const notFound = (halt_id: string) =>
  kernelError("T5_HALT_NOT_FOUND", `there is no halt ${halt_id} in this tenant`, haltRef, { detail: { halt_id } });
