/**
 * Several decisions of one request: each is judged, recorded and answered by itself.
 *
 * Never: decides anything itself; each decision goes the way of a single one.
 * 1.  A decision that is refused refuses no other.
 * 2.  Decisions at gates of one workflow are taken one after another, in the order of the request.
 */
import { raise } from "../../contract/error.ts";
import { kernelError } from "../../contract/error-codes.ts";
import type { ParsedGateRequest } from "../../contract/gate.ts";
import type {
  DecisionResult,
  GateDecisionsResponse,
  ParsedGateDecisions,
  ParsedNamedDecision,
} from "../../contract/gate-decisions.ts";
import { KernelErrorException } from "../../contract/kernel-error.ts";
import { moduleRef } from "../../contract/module-ref.ts";
import type { Gateway } from "./gateway.ts";

/** The workflows whose gates are decided at the same time. */
const lanes = 16;

const decisionsRef = moduleRef(0, "gateway", "decide_gates");

/**
 * Takes the decisions of a request, those of different workflows side by side. @throws KernelErrorException
 * T0_VALIDATION_SCHEMA_MISMATCH for two decisions at one gate.
 */
export async function decideGates(
  { tenant_id, principal, decisions }: ParsedGateDecisions,
  decide: (workflowId: string, request: ParsedGateRequest) => ReturnType<Gateway["decideGate"]>,
): Promise<GateDecisionsResponse> {
  requireEachOnce(decisions);
  const results: DecisionResult[] = [];
  const work = Map.groupBy(decisions.entries(), ([, { workflow_id }]) => workflow_id).values();
  const takeNext = async (): Promise<void> => {
    for (const ofWorkflow of work)
      for (const [place, { workflow_id, ...decision }] of ofWorkflow)
        results[place] = await settle(workflow_id, decide(workflow_id, { tenant_id, principal, ...decision }));
  };
  await Promise.all(Array.from({ length: lanes }, takeNext));
  const taken = results.filter(({ ok }) => ok).length;
  return { results, taken, refused: results.length - taken };
}

async function settle(workflow_id: string, deciding: ReturnType<Gateway["decideGate"]>): Promise<DecisionResult> {
  try {
    return { workflow_id, ok: true, answer: await deciding };
  } catch (thrown) {
    if (!(thrown instanceof KernelErrorException)) throw thrown;
    return { workflow_id, ok: false, error: thrown.error };
  }
}

function requireEachOnce(decisions: readonly ParsedNamedDecision[]): void {
  const seen = new Map<string, number>();
  for (const [place, { workflow_id, gate_id, payload }] of decisions.entries()) {
    const named = JSON.stringify([workflow_id, gate_id ?? payload.payload_digest]);
    const first = seen.get(named);
    if (first !== undefined)
      raise(
        kernelError(
          "T0_VALIDATION_SCHEMA_MISMATCH",
          `request: decisions.${place} is at the same gate as decisions.${first}; name each gate once`,
          decisionsRef,
        ),
      );
    seen.set(named, place);
  }
}
