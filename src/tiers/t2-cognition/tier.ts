/**
 * T2, cognition: gathers the known facts, checks the parts of a question, and repairs refused calls.
 *
 * Owns: the context bundle and its cache, the check of sub-goals, curiosity's repair, the merge of federated memory.
 * Never: reads anything but ledgers.
 */
import { KernelErrorException, raise } from "../../contract/error.ts";
import { kernelError } from "../../contract/error-codes.ts";
import { follow, isPromise } from "../../contract/maybe-promise.ts";
import { type ContextAnswer, type ContextQuestion, type GoalCheck, t2 } from "../../contract/messages/t2.ts";
import { moduleRef } from "../../contract/module-ref.ts";
import { answerMessages, Reply } from "../../engine/actors/answer-messages.ts";
import type { TierDefinition } from "../../engine/actors/define-tier.ts";
import type { Runtime } from "../../engine/actors/runtime.ts";
import { messageOf } from "../../engine/actors/within.ts";
import { type BuiltContext, type ContextBuilder, createContextBuilder, type LedgerReader } from "./build-context.ts";
import { findCycle } from "./find-cycle.ts";
import { repairRequest } from "./repair-request.ts";
import { type MemoryLedger, syncMemory } from "./sync-memory.ts";

const refs = {
  context: moduleRef(2, "context", "build"),
  decomposition: moduleRef(2, "decomposition", "check_goals"),
} as const;

export function createCognitionTier(reader: LedgerReader & MemoryLedger): TierDefinition {
  const builder = createContextBuilder(reader);
  return {
    tier: 2,
    name: "cognition",
    start: () => builder.clear(),
    doors: answerMessages(t2, {
      buildContext: (question, { runtime }) => follow(buildOrRefuse(builder, question, runtime), replyContext),
      mergeChanges: (judged, { signal, runtime }) => syncMemory(judged, { signal, runtime }, reader),
      checkGoals,
      repair: repairRequest,
    }),
  };
}

function replyContext({ bundle, cache_hit, pressure }: BuiltContext): Reply<ContextAnswer> {
  return new Reply({ bundle, cache_hit }, { warning: pressure, metrics: { cache_hit } });
}

function buildOrRefuse(builder: ContextBuilder, question: ContextQuestion, runtime: Runtime) {
  try {
    const built = builder.build(question, runtime);
    return isPromise(built) ? built.catch(refuseContext) : built;
  } catch (thrown) {
    return refuseContext(thrown);
  }
}

/**
 * Refuses a context. A ledger that cannot be read does not crash this tier: the error names the failure, and a retry
 * may succeed.
 */
function refuseContext(thrown: unknown): never {
  const cause = thrown instanceof KernelErrorException ? thrown.error : null;
  const message = `the context could not be built: ${messageOf(thrown)}`;
  return raise(kernelError("T2_CONTEXT_UNAVAILABLE", message, refs.context, { cause }));
}

/** Checks sub-goals: those that wait for one another in a cycle can never be reached. */
function checkGoals({ goals }: GoalCheck): { readonly goals: number } {
  const cycle = findCycle(goals);
  if (cycle === null) return { goals: goals.length };
  const message = `these depend on one another in a circle: ${cycle.join(" → ")}`;
  return raise(kernelError("T2_DECOMPOSE_CYCLE_DETECTED", message, refs.decomposition, { detail: { cycle } }));
}
