/**
 * Grants: what an approver of a gate approves ahead, and the end of it. They are events of the tenant's own log, in the
 * name of the person who gave them.
 *
 * 1.  Who gives a grant has a seat of their own at the gate, and the grant takes over its operator, rules and people.
 * 2.  The same order again gives the grant that stands. Revoking is for everybody who may approve, because it only adds
 *     questions to people; a revoked grant approves nothing that is not in the ledger yet.
 */
import type { Same } from "../../machines/quorum.ts";
import { type AuthContext, commandScopes } from "../contract/auth-context.ts";
import { digest } from "../contract/digest.ts";
import { raise } from "../contract/error.ts";
import { type ErrorCode, kernelError } from "../contract/error-codes.ts";
import { draft } from "../contract/event.ts";
import type { Gate } from "../contract/gate.ts";
import { refOf } from "../contract/gate-vote.ts";
import { askedDigest, type Grant, type GrantStanding, whyNoGrant } from "../contract/grant.ts";
import { GrantFilter, GrantRequest, type ParsedGrantRequest, RevokeGrantRequest } from "../contract/grant-orders.ts";
import { grantCounter } from "../contract/grant-use.ts";
import { instantText } from "../contract/instant.ts";
import type { Json } from "../contract/json.ts";
import { readRequest, readStrictly } from "../contract/known-keys.ts";
import { moduleRef } from "../contract/module-ref.ts";
import type { WorkflowRecord } from "../contract/workflow.ts";
import type { Runtime } from "../engine/actors/runtime.ts";
import { takeJson } from "../engine/actors/take-json.ts";
import type { LedgerReading } from "../engine/follow/ledger-reader.ts";
import type { TenantAppend } from "../engine/log/tenant-log.ts";
import type { TenantRegistry } from "../engine/log/tenant-registry.ts";
import type { LedgerStore } from "../ports/ledger-store.ts";
import type { Gateway } from "../tiers/t0-foundation/gateway.ts";
import { seatVoter } from "../tiers/t5-ego/seat-voter.ts";
import type { Kernel } from "./kernel-interface.ts";
import { tenantFor } from "./tenant-of-read.ts";

export interface GrantParts {
  readonly store: Pick<LedgerStore, "grants" | "grant" | "grantsFor" | "charges">;
  readonly gateway: Gateway;
  readonly runtime: Runtime;
  readonly tenantLog: TenantAppend;
  readonly grants: TenantRegistry;
  readonly reading: LedgerReading;
  readonly same: Same;
}

const grantRef = moduleRef(5, "ego", "grant");
const about = { what: "request", source: grantRef } as const;

export function createGrants(parts: GrantParts): Pick<Kernel, "grant" | "revokeGrant" | "grants"> {
  return {
    grant: (request) => giveGrant(parts, request),
    revokeGrant: (request) => revokeGrant(parts, request),
    grants: (filter, caller) => listGrants(parts, filter, caller),
  };
}

async function giveGrant(parts: GrantParts, raw: GrantRequest) {
  const { store, gateway, runtime, tenantLog, grants, reading } = parts;
  const request = readRequest(GrantRequest, takeJson(raw, about), about);
  const { tenant_id, principal: by, workflow_id } = request;
  const auth = (await gateway.authorize({ tenant_id, principal: by }, commandScopes.grant)) as AuthContext;
  const record = await reading.readWorkflowState(workflow_id, { tenant_id, principal: by });
  const given = describeGrant(parts, request, { auth, record });
  const decide = async () => {
    const standing = await store.grantsFor(tenant_id, { operator: given.operator, workflow_id });
    const known = standing.find((grant) => termsOf(grant) === termsOf(given));
    if (known !== undefined) return { drafts: [], answer: known.grant_id };
    const grant: Grant = { ...given, grant_id: runtime.ids.next("grant") };
    return { drafts: [draft("GRANT_GIVEN", { grant })], answer: grant.grant_id };
  };
  const { answer: grant_id } = await tenantLog(tenant_id, decide, by);
  await grants.refresh();
  return { grant_id, status: "granted" } as const;
}

interface Giving {
  readonly auth: AuthContext;
  readonly record: WorkflowRecord;
}

/**
 * Returns the grant that a request gives, without its id. @throws KernelErrorException T5_GATE_NOT_FOUND,
 * T5_GRANT_REFUSED, T5_AUTHZ_FORBIDDEN, T0_VALIDATION_SCHEMA_MISMATCH.
 */
function describeGrant(
  { runtime, same }: GrantParts,
  request: ParsedGrantRequest,
  { auth, record }: Giving,
): Omit<Grant, "grant_id"> {
  const { tenant_id: _tenant, principal: by, workflow_id, gate_id, reason, ...terms } = request;
  const now = runtime.clock.now();
  const gate = record.gates.get(gate_id) ?? refuse("T5_GATE_NOT_FOUND", `${workflow_id} has no gate ${gate_id}`);
  if (terms.uses === undefined && terms.money === undefined)
    refuse("T0_VALIDATION_SCHEMA_MISMATCH", "uses: a grant says how many calls, or which sum of money, it approves");
  if (terms.until !== undefined && Date.parse(terms.until) <= now)
    refuse("T0_VALIDATION_SCHEMA_MISMATCH", `until: ${terms.until} is past`);
  if (terms.uses === undefined && gate.estimated_cost === 0)
    refuse(
      "T0_VALIDATION_SCHEMA_MISMATCH",
      "uses: the call at this gate states no cost, so that no sum limits its calls",
    );
  const why = whyNoGrant(gate);
  if (why !== null) refuse("T5_GRANT_REFUSED", `${gate_id} takes no grant: ${why}`);
  requireOwnSeat(gate, { principal: by, auth, now: instantText(now), capability: record.intent.type }, same);
  return {
    ...(JSON.parse(JSON.stringify(terms)) as typeof terms),
    operator: gate.operator,
    capability: `${record.intent.type}@${record.intent.version}`,
    workflow_id: record.workflow_id,
    gate_id,
    by,
    auth,
    at: instantText(now),
    reason,
    policy_version: gate.policy_version,
    asked_digest: askedDigest(gate),
  };
}

function requireOwnSeat(gate: Gate, voter: Parameters<typeof seatVoter>[1], same: Same): void {
  const { advisory, on_behalf_of } = seatVoter(gate, voter, same);
  if (advisory || on_behalf_of !== null)
    refuse("T5_AUTHZ_FORBIDDEN", `${gate.gate_id}: a grant needs a seat of one's own, which counts`);
}

/** Returns what tells one grant from another, whenever and for whatever reason it was given. */
const termsOf = ({ at: _at, reason: _reason, auth: _auth, by, ...terms }: Omit<Grant, "grant_id">): string => {
  const { grant_id: _id, ...rest } = terms as Partial<Grant>;
  return digest({ ...rest, by: refOf(by) } as unknown as Json);
};

async function revokeGrant({ store, gateway, tenantLog, grants }: GrantParts, raw: RevokeGrantRequest) {
  const request = readRequest(RevokeGrantRequest, takeJson(raw, about), about);
  const { tenant_id, principal: by, grant_id, reason } = request;
  await gateway.authorize({ tenant_id, principal: by }, commandScopes.grant);
  const decide = async () => {
    if ((await store.grant(tenant_id, grant_id)) === null)
      refuse("T5_GRANT_NOT_FOUND", `no grant ${grant_id} stands in this tenant`);
    return { drafts: [draft("GRANT_REVOKED", { grant_id, reason, by })], answer: null };
  };
  await tenantLog(tenant_id, decide, by);
  await grants.refresh();
  return { grant_id, status: "revoked" } as const;
}

async function listGrants(
  { store, gateway }: GrantParts,
  raw: GrantFilter | undefined,
  caller: Parameters<Kernel["grants"]>[1],
): Promise<readonly GrantStanding[]> {
  const { tenant_id, after, limit } = readStrictly(GrantFilter, raw ?? {}, { what: "filter", source: grantRef });
  await gateway.authorize(caller, commandScopes.read);
  const tenant = tenantFor(tenant_id, caller, grantRef);
  const page = await store.grants(tenant, { limit, ...(after !== undefined && { after }) });
  const names = page.map(({ grant_id }) => grantCounter(grant_id));
  const charges = names.length === 0 ? [] : await store.charges(tenant, names);
  return page.map(({ auth: _auth, ...grant }, at) => {
    const { invocations: uses = 0, money = 0 } = charges[at] ?? {};
    return { ...grant, used: { uses, money } };
  });
}

const refuse = (code: ErrorCode, message: string): never => raise(kernelError(code, message, grantRef));
