/**
 * The key under which a request may be sent again.
 *
 * Owns: what a key and its digest are made of. Never: reads a ledger.
 */
import { digest } from "../../contract/digest.ts";
import type { ParsedSubmitRequest, Submission } from "../../contract/intent.ts";
import type { Json, JsonObject } from "../../contract/json.ts";
import type { ChildOrigin, ForkLineage, Lineage } from "./lineage.ts";

/** A request as it was read, and the copy that it was read from. */
export interface Admitted {
  readonly request: ParsedSubmitRequest;
  readonly plain: Json;
}

interface Submitted extends Admitted {
  readonly lineage: Lineage | undefined;
  readonly fork: ForkLineage | undefined;
  readonly child: ChildOrigin | undefined;
}

/**
 * Returns the key of a request and the digest of the request as it was sent, so that a later release's defaults do not
 * change it. A key for repeating a workflow is counted for that workflow.
 */
export function submissionOf({
  request: { idempotency_key: key },
  plain,
  lineage,
  fork,
  child,
}: Submitted): Submission | null {
  if (key === undefined) return null;
  const { idempotency_key: _key, tenant_id: _tenant, principal: _by, ...rest } = plain as JsonObject;
  if (child !== undefined) {
    const { workflow_id, step_id } = child.parent;
    return { key, digest: digest({ ...rest, parent: { workflow_id, step_id } }) };
  }
  if (fork !== undefined)
    return { key: `fork ${fork.taken.workflow_id} ${key}`, digest: digest({ ...rest, fork: fork.asked } as Json) };
  if (lineage === undefined) return { key, digest: digest(rest) };
  const { requesters: _people, spent_calls: _calls, kept_drafts: _drafts, ...again } = lineage;
  return { key: `${lineage.regenerated_from} ${key}`, digest: digest({ ...rest, lineage: again }) };
}
