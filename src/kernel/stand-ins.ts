/**
 * Stand-ins: who takes a person's seats at gates while they are away, and the end of that. They are events of the
 * tenant's own log, in the name of the person who is away.
 *
 * 1.  An order is recorded with its author's rights of that moment, which decide about the seats as those of a vote.
 * 2.  The same order again gives the order that stands.
 * 3.  Its author ends it, or one who may stop work of the tenant (`halt:write`); a vote by an order that has ended is
 *     refused by the store.
 */
import { isSamePrincipal, type Same } from "../../machines/quorum.ts";
import { type AuthContext, type Caller, commandScopes, hasScope } from "../contract/auth-context.ts";
import { raise } from "../contract/error.ts";
import { type ErrorCode, kernelError } from "../contract/error-codes.ts";
import { draft } from "../contract/event.ts";
import { refOf } from "../contract/gate-vote.ts";
import { instantText } from "../contract/instant.ts";
import { readRequest, readStrictly } from "../contract/known-keys.ts";
import { moduleRef } from "../contract/module-ref.ts";
import { maxAwayMs, type StandIn, type StandInStanding, standInCounter } from "../contract/stand-in.ts";
import {
  EndStandInRequest,
  type ParsedStandInRequest,
  StandInFilter,
  StandInRequest,
} from "../contract/stand-in-orders.ts";
import type { Runtime } from "../engine/actors/runtime.ts";
import { takeJson } from "../engine/actors/take-json.ts";
import type { TenantAppend } from "../engine/log/tenant-log.ts";
import type { TenantRegistry } from "../engine/log/tenant-registry.ts";
import type { LedgerStore } from "../ports/ledger-store.ts";
import type { Gateway } from "../tiers/t0-foundation/gateway.ts";
import type { Kernel } from "./kernel-interface.ts";
import { tenantFor } from "./tenant-of-read.ts";

export interface StandInParts {
  readonly store: Pick<LedgerStore, "standIns" | "standIn" | "charges">;
  readonly gateway: Gateway;
  readonly runtime: Runtime;
  readonly tenantLog: TenantAppend;
  readonly standIns: TenantRegistry;
  readonly same: Same;
}

const standInRef = moduleRef(5, "ego", "stand_in");
const about = { what: "request", source: standInRef } as const;
/** The orders of one person that hold or are still to come at once. */
const mostOfOne = 20;

export function createStandIns(parts: StandInParts): Pick<Kernel, "standIn" | "endStandIn" | "standIns"> {
  return {
    standIn: (request) => nameStandIn(parts, request),
    endStandIn: (request) => endStandIn(parts, request),
    standIns: (filter, caller) => listStandIns(parts, filter, caller),
  };
}

async function nameStandIn(parts: StandInParts, raw: StandInRequest) {
  const { store, gateway, runtime, tenantLog, standIns } = parts;
  const request = readRequest(StandInRequest, takeJson(raw, about), about);
  const { tenant_id, principal: by } = request;
  const auth = (await gateway.authorize({ tenant_id, principal: by }, commandScopes.standIn)) as AuthContext;
  const named = describeOrder(parts, request, auth);
  const decide = async () => {
    const page = { now: runtime.clock.now(), person: refOf(by), limit: 1_000 };
    const own = (await store.standIns(tenant_id, page)).filter((order) => isSamePrincipal(order.by, by));
    const known = own.find((order) => isSameOrder(order, named, request.from !== undefined));
    if (known !== undefined) return { drafts: [], answer: known.stand_in_id };
    if (own.length >= mostOfOne)
      refuse("T5_STAND_IN_REFUSED", `${mostOfOne} orders of theirs hold or are to come; end one first`);
    const stand_in: StandIn = { ...named, stand_in_id: runtime.ids.next("stand_in") };
    return { drafts: [draft("STAND_IN_NAMED", { stand_in })], answer: stand_in.stand_in_id };
  };
  const { answer: stand_in_id } = await tenantLog(tenant_id, decide, by);
  await standIns.refresh();
  return { stand_in_id, status: "named" } as const;
}

/** Returns the order of a request, without its id. @throws KernelErrorException T5_STAND_IN_REFUSED. */
function describeOrder(
  { runtime, same }: StandInParts,
  { principal: by, to, from, until, reason }: ParsedStandInRequest,
  auth: AuthContext,
): Omit<StandIn, "stand_in_id"> {
  const now = runtime.clock.now();
  const [begins, ends] = [from === undefined ? now : Date.parse(from), Date.parse(until)];
  if (same(to, by)) refuse("T5_STAND_IN_REFUSED", "nobody stands in for themselves");
  if (ends <= now) refuse("T5_STAND_IN_REFUSED", `until: ${until} is past`);
  if (ends <= begins) refuse("T5_STAND_IN_REFUSED", `until: ${until} is not after from`);
  if (ends - now > maxAwayMs) refuse("T5_STAND_IN_REFUSED", `until: ${until} is more than 90 days ahead`);
  const times = { from: instantText(begins), until: instantText(ends), at: instantText(now) };
  return { by, to: refOf(to), ...times, reason, auth };
}

/** Returns whether an order stands that says the same; one that began at once may have begun before. */
const isSameOrder = (
  standing: StandIn,
  { by, to, from, until, at }: Omit<StandIn, "stand_in_id">,
  isFromGiven: boolean,
): boolean =>
  standing.by.role === by.role &&
  isSamePrincipal(standing.to, to) &&
  standing.until === until &&
  (isFromGiven ? standing.from === from : Date.parse(standing.from) <= Date.parse(at));

async function endStandIn({ store, gateway, tenantLog, standIns }: StandInParts, raw: EndStandInRequest) {
  const request = readRequest(EndStandInRequest, takeJson(raw, about), about);
  const { tenant_id, principal: by, stand_in_id, reason } = request;
  const { scopes } = (await gateway.authorize({ tenant_id, principal: by }, commandScopes.standIn)) as AuthContext;
  const decide = async () => {
    const order =
      (await store.standIn(tenant_id, stand_in_id)) ??
      refuse("T5_STAND_IN_NOT_FOUND", `no order ${stand_in_id} stands in this tenant`);
    if (!isSamePrincipal(order.by, by) && !hasScope(scopes, commandScopes.halt))
      refuse("T5_AUTHZ_FORBIDDEN", `${stand_in_id} is ended by its author, or by one with ${commandScopes.halt}`);
    return { drafts: [draft("STAND_IN_ENDED", { stand_in_id, reason, by })], answer: null };
  };
  await tenantLog(tenant_id, decide, by);
  await standIns.refresh();
  return { stand_in_id, status: "ended" } as const;
}

async function listStandIns(
  { store, gateway, runtime }: StandInParts,
  raw: StandInFilter | undefined,
  caller: Caller | undefined,
): Promise<readonly StandInStanding[]> {
  const filter = readStrictly(StandInFilter, raw ?? {}, { what: "filter", source: standInRef });
  const { tenant_id, mine = false, after, limit } = filter;
  await gateway.authorize(caller, commandScopes.read);
  if (mine && caller === undefined)
    refuse("T0_VALIDATION_SCHEMA_MISMATCH", "filter: mine is a caller's; the embedding host is nobody");
  const tenant = tenantFor(tenant_id, caller, standInRef);
  const page = await store.standIns(tenant, {
    ...{ now: runtime.clock.now(), limit },
    ...(mine && caller !== undefined && { person: refOf(caller.principal) }),
    ...(after !== undefined && { after }),
  });
  const names = page.map(({ stand_in_id }) => standInCounter(stand_in_id));
  const charges = names.length === 0 ? [] : await store.charges(tenant, names);
  return page.map(({ auth: _auth, ...order }, at) => ({ ...order, votes: charges[at]?.invocations ?? 0 }));
}

const refuse = (code: ErrorCode, message: string): never => raise(kernelError(code, message, standInRef));
