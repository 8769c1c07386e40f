/**
 * What a running operator leaves in the ledger beside its result: events of its own, and what it has done so far, for the
 * attempt after this one (seed 001, ExecutionContext).
 *
 * O1  It is written while the call's step runs and its own call is under way; later words are refused.
 * O2  Only JSON is kept, and no more of it than the limits say.
 */
import { digest } from "../../contract/digest.ts";
import { raise } from "../../contract/error.ts";
import { kernelError } from "../../contract/error-codes.ts";
import { draft, type EventPayloads } from "../../contract/event.ts";
import { JsonObject, toJson } from "../../contract/json.ts";
import { moduleRef } from "../../contract/module-ref.ts";
import type { OperatorCall } from "../../contract/operator.ts";
import { OwnLabel } from "../../contract/token.ts";
import { messageOf } from "../../runtime/within.ts";
import { type Run, stepOf } from "./run.ts";

type Recording = Pick<OperatorCall, "emit" | "checkpoint" | "restored" | "capabilityUsage">;
type Recorded = Pick<EventPayloads["TOKEN_RECORDED"], "kind" | "label" | "detail">;

const recordRef = moduleRef(4, "operator_invoker", "record");

export function createRecording(
  run: Run,
  { stepId, attempt }: { readonly stepId: string; readonly attempt: number },
): Recording {
  const { checkpoint, step, run: round } = stepOf(run, stepId);
  let left = run.kit.limits.maxCallRecords;
  const record = (recorded: Recorded): void => {
    left -= 1;
    if (left < 0) refuse(`it recorded more than limits.maxCallRecords = ${run.kit.limits.maxCallRecords}`);
    const now = stepOf(run, stepId);
    const isOwn = now.run === round && now.attempt === attempt && now.attempts.at(-1)?.outcome === "running";
    if (run.log.lost !== null || now.phase !== "executing" || !isOwn) refuse("its call is over");
    run.log.note(draft("TOKEN_RECORDED", { token_id: now.token_id ?? 0, ...recorded }, stepId));
    run.commitSoon();
  };
  return {
    restored: checkpoint,
    emit(label, detail = {}) {
      const own = OwnLabel.safeParse(label);
      if (!own.success) return refuse(`an event needs a label: ${own.error.issues[0]?.message}`);
      const kept = JsonObject.safeParse(readJson(run, { detail })["detail"]);
      if (!kept.success) return refuse("the detail of an event is an object");
      record({ kind: "custom", label: own.data, detail: kept.data as JsonObject });
    },
    checkpoint(state) {
      const kept = readJson(run, { state });
      record({ kind: "snapshot_created", label: null, detail: { ...kept, hash: digest(kept["state"]) } });
    },
    capabilityUsage: () => run.log.record.used.capabilities.get(step.operator) ?? { invocations: 0, tokens: 0 },
  };
}

function readJson(run: Run, value: Readonly<Record<string, unknown>>): JsonObject {
  const { maxOutputChars } = run.kit.limits;
  try {
    const json = toJson(value) as JsonObject;
    if (JSON.stringify(json).length <= maxOutputChars) return json;
  } catch (thrown) {
    refuse(`it is no JSON: ${messageOf(thrown)}`);
  }
  return refuse(`it is longer than limits.maxOutputChars = ${maxOutputChars}`);
}

const refuse = (why: string): never =>
  raise(kernelError("T0_VALIDATION_SCHEMA_MISMATCH", `nothing was recorded for the call: ${why}`, recordRef));
