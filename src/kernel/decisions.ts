/** The history of decisions: what people have decided at gates, over all workflows of a tenant. */
import { type Caller, commandScopes, tenantOf } from "../contract/auth-context.ts";
import { type Decision, DecisionFilter } from "../contract/decision.ts";
import { raise } from "../contract/error.ts";
import { kernelError } from "../contract/error-codes.ts";
import { WorkflowId } from "../contract/ids.ts";
import { withoutUnset } from "../contract/json.ts";
import { readStrictly } from "../contract/known-keys.ts";
import { moduleRef } from "../contract/module-ref.ts";
import { foldCase } from "../contract/search-text.ts";
import type { Listed } from "../contract/workflow-summary.ts";
import type { DecisionPlace } from "../ports/decision-index.ts";
import type { LedgerStore } from "../ports/ledger-store.ts";
import type { Gateway } from "../tiers/t0-foundation/gateway.ts";
import { millisecondsOf } from "./lists.ts";

export interface DecisionParts {
  readonly store: Pick<LedgerStore, "decisions" | "countDecisions">;
  readonly gateway: Gateway;
}

const decisionRef = moduleRef(0, "gateway", "decisions");

const refuse = (message: string): never =>
  raise(kernelError("T0_VALIDATION_SCHEMA_MISMATCH", `filter: ${message}`, decisionRef));

/** Lists decisions. @throws KernelErrorException T0_VALIDATION_SCHEMA_MISMATCH, T5_AUTHZ_FORBIDDEN. */
export async function listDecisions(
  { store, gateway }: DecisionParts,
  raw: DecisionFilter | undefined,
  caller: Caller | undefined,
): Promise<Listed<Decision>> {
  const filter = readStrictly(DecisionFilter, raw ?? {}, { what: "filter", source: decisionRef });
  await gateway.authorize(caller, commandScopes.read);
  const { after, before, limit, total, mine = false, principal, since, until, sort, text = "", ...rest } = filter;
  const wanted = foldCase(text.trim());
  const selection = withoutUnset({
    ...rest,
    tenant_id: tenantOf(caller),
    principal_id: mine ? ownId(caller, principal) : principal,
    since: millisecondsOf(since),
    until: millisecondsOf(until),
    text: wanted === "" ? undefined : wanted,
  });
  const cursors = withoutUnset({ after: placeOf(after), before: placeOf(before) });
  const page = [...(await store.decisions({ ...selection, ...withoutUnset({ sort }), ...cursors, limit }))];
  return total ? Object.assign(page, { total: await store.countDecisions(selection) }) : page;
}

function ownId(caller: Caller | undefined, principal: string | number | undefined): string | number {
  if (caller === undefined) return refuse("mine: the decisions of the caller need a caller");
  if (principal !== undefined && principal !== caller.principal.id) refuse("mine and principal name two people");
  return caller.principal.id;
}

/** Reads a cursor of the history: `<epoch ms>/<workflow_id>/<sequence>`. */
function placeOf(text: string | undefined): DecisionPlace | undefined {
  if (text === undefined) return undefined;
  const [at = "", workflow_id = "", sequence = "", ...more] = text.split("/");
  const place = { at: Number(at), workflow_id, sequence: Number(sequence) };
  const isPlace = Number.isFinite(place.at) && Number.isSafeInteger(place.sequence) && at !== "" && sequence !== "";
  if (!isPlace || more.length > 0 || !WorkflowId.safeParse(workflow_id).success)
    refuse("<epoch ms>/<workflow_id>/<sequence> is a cursor of this list of decisions");
  return place;
}
