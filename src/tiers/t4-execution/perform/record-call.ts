/**
 * The records of a running operator in the ledger beside its result: its own events, and its checkpoint for the next
 * attempt.
 *
 * 1.  They are written while the call's step is running and waits for this call; later ones are refused.
 * 2.  Only JSON is kept, within the limits.
 */
import { digest } from "../../../contract/digest.ts";
import { raise } from "../../../contract/error.ts";
import { kernelError } from "../../../contract/error-codes.ts";
import { draft, type EventPayloads } from "../../../contract/event.ts";
import { type Json, JsonObject, toJson, usualDepth } from "../../../contract/json.ts";
import { moduleRef } from "../../../contract/module-ref.ts";
import type { OperatorCall } from "../../../contract/operator.ts";
import { type CapabilityUsage, OwnLabel } from "../../../contract/token.ts";
import { messageOf } from "../../../engine/actors/within.ts";
import { isCurrent } from "../decide/call/handle-reported.ts";
import type { CallOf } from "../decide/run/input.ts";
import { stepOf } from "../decide/run/run.ts";
import type { Calling } from "./call-operator.ts";

type Recorded = Pick<EventPayloads["TOKEN_RECORDED"], "kind" | "label" | "detail">;

const recordRef = moduleRef(4, "operator_invoker", "record");

export class CallRecords implements Pick<OperatorCall, "emit" | "checkpoint" | "restored" | "capabilityUsage"> {
  readonly restored: Json;
  readonly #at: Calling;
  readonly #call: CallOf;
  #left: number;

  constructor(at: Calling, call: CallOf) {
    this.#at = at;
    this.#call = call;
    this.#left = at.runtime.limits.maxCallRecords;
    this.restored = stepOf(at.run, call.step_id).checkpoint;
  }

  emit(label: string, detail: JsonObject = {}): void {
    const own = OwnLabel.safeParse(label);
    if (!own.success) return refuse(`an event needs a label: ${own.error.issues[0]?.message}`);
    const kept = JsonObject.safeParse(readJson(this.#at, { detail })["detail"]);
    if (!kept.success) return refuse("the detail of an event is an object");
    this.#record({ kind: "custom", label: own.data, detail: kept.data as JsonObject });
  }

  checkpoint(state: unknown): void {
    const kept = readJson(this.#at, { state });
    this.#record({ kind: "snapshot_created", label: null, detail: { ...kept, hash: digest(kept["state"]) } });
  }

  capabilityUsage(): CapabilityUsage {
    const { run } = this.#at;
    const { operator } = stepOf(run, this.#call.step_id).step;
    return run.log.record.used.capabilities.get(operator) ?? { invocations: 0, tokens: 0 };
  }

  #record(recorded: Recorded): void {
    const { run, runtime } = this.#at;
    const call = this.#call;
    this.#left -= 1;
    if (this.#left < 0) refuse(`it recorded more than limits.maxCallRecords = ${runtime.limits.maxCallRecords}`);
    if (!isCurrent(run, call)) refuse("its call is over");
    const { token_id } = stepOf(run, call.step_id);
    const recordedCall = draft("TOKEN_RECORDED", { token_id: token_id ?? 0, ...recorded }, call.step_id);
    this.#at.note(call, [recordedCall]).catch(() => undefined);
  }
}

function readJson({ runtime }: Calling, value: JsonObject): JsonObject {
  const { maxOutputChars } = runtime.limits;
  try {
    const json = toJson(value, usualDepth, maxOutputChars) as JsonObject;
    if (JSON.stringify(json).length <= maxOutputChars) return json;
  } catch (thrown) {
    refuse(`it is no JSON: ${messageOf(thrown)}`);
  }
  return refuse(`it is longer than limits.maxOutputChars = ${maxOutputChars}`);
}

const refuse = (why: string): never =>
  raise(kernelError("T0_VALIDATION_SCHEMA_MISMATCH", `nothing was recorded for the call: ${why}`, recordRef));
