/**
 * T2, cognition: what do we know, in what parts is it asked, and can a refused call be put right.
 *
 * Owns: the context bundle and its cache, the check of sub-goals, curiosity's repair, the merge of federated memory. Never:
 * reads anything but ledgers.
 */
import { KernelErrorException, raise } from "../../contract/error.ts";
import { kernelError } from "../../contract/error-codes.ts";
import { follow, isPromise } from "../../contract/maybe-promise.ts";
import { moduleRef } from "../../contract/module-ref.ts";
import { metricsOf, ok, partial, type Result } from "../../contract/result.ts";
import type { Signal } from "../../contract/signal.ts";
import { answerData } from "../../engine/actors/answer.ts";
import type { TierDefinition } from "../../engine/actors/define-tier.ts";
import type { Runtime } from "../../engine/actors/runtime.ts";
import { messageOf } from "../../engine/actors/within.ts";
import {
  type BuiltContext,
  type ContextBuilder,
  type ContextQuestion,
  createContextBuilder,
  type LedgerReader,
} from "./build-context.ts";
import { findCycle } from "./find-cycle.ts";
import { type RepairQuestion, repairRequest } from "./repair-request.ts";
import { type MemoryLedger, syncMemory } from "./sync-memory.ts";

const refs = {
  context: moduleRef(2, "context", "build"),
  decomposition: moduleRef(2, "decomposition", "check_goals"),
  curiosity: moduleRef(2, "curiosity", "repair"),
} as const;

export function createCognitionTier(reader: LedgerReader & MemoryLedger): TierDefinition {
  const builder = createContextBuilder(reader);
  return {
    tier: 2,
    name: "cognition",
    start: () => builder.clear(),
    doors: {
      "data:ContextRequest": {
        module: "context",
        function: "build",
        handle(signal, runtime) {
          const built = buildOrRefuse(builder, signal.body["data"] as ContextQuestion, runtime);
          return follow(built, (found) => reportContext(signal, runtime, found));
        },
      },
      "data:JudgedChanges": {
        module: "federation",
        function: "merge",
        handle: (signal, runtime) => syncMemory(signal, runtime, reader),
      },
      "data:GoalCheck": { module: "decomposition", function: "check_goals", handle: checkGoals },
      "data:Repair": {
        module: "curiosity",
        function: "repair",
        handle: (signal, runtime) =>
          answerData(runtime, signal, {
            data: repairRequest(signal.body["data"] as RepairQuestion),
            schema: "Repaired",
            ref: refs.curiosity,
          }),
      },
    },
  };
}

function reportContext(signal: Signal, runtime: Runtime, { bundle, cache_hit, pressure }: BuiltContext): Result {
  const answer = { data: { bundle, cache_hit }, schema: "ContextAnswer", ref: refs.context };
  const { signals } = answerData(runtime, signal, answer);
  const metrics = metricsOf(refs.context, { cache_hit });
  return pressure === null ? ok(signals, metrics) : partial(signals, pressure, metrics);
}

function buildOrRefuse(builder: ContextBuilder, question: ContextQuestion, runtime: Runtime) {
  try {
    const built = builder.build(question, runtime);
    return isPromise(built) ? built.catch(refuseContext) : built;
  } catch (thrown) {
    return refuseContext(thrown);
  }
}

/** A ledger that cannot be read is no crash of this tier: the error says what failed, and a retry may do. */
function refuseContext(thrown: unknown): never {
  const cause = thrown instanceof KernelErrorException ? thrown.error : null;
  const message = `the context could not be built: ${messageOf(thrown)}`;
  return raise(kernelError("T2_CONTEXT_UNAVAILABLE", message, refs.context, { cause }));
}

/** Sub-goals that wait for one another in a circle can never be reached. */
function checkGoals(signal: Signal, runtime: Runtime): Result {
  const { goals } = signal.body["data"] as {
    readonly goals: readonly { readonly id: string; readonly depends_on: readonly string[] }[];
  };
  const cycle = findCycle(goals);
  if (cycle !== null)
    raise(
      kernelError(
        "T2_DECOMPOSE_CYCLE_DETECTED",
        `these depend on one another in a circle: ${cycle.join(" → ")}`,
        refs.decomposition,
        { detail: { cycle } },
      ),
    );
  return answerData(runtime, signal, {
    data: { goals: goals.length },
    schema: "GoalsChecked",
    ref: refs.decomposition,
  });
}
