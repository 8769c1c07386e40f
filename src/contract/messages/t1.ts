/** The messages that T1, perception, answers. */
import type { KernelError } from "../error.ts";
import type { BegunIntake, Intake } from "../intake.ts";
import type { ParsedSubmitRequest, ScheduleOrigin, SubmitResponse } from "../intent.ts";
import type { RpcMessage } from "../rpc.ts";
import { messagesOf } from "./message.ts";

const { data } = messagesOf(1);

/** A text of a user, typed and scored. */
export interface Perceived {
  /** Null when no intent fits and no fallback is configured. */
  readonly intent_type: string | null;
  readonly domain: string;
  readonly urgency: "low" | "normal" | "high" | "critical";
  readonly confidence: number;
  readonly warnings: readonly KernelError[];
}

/** A request that intake sends to be normalised. */
export interface NormalizeQuestion extends BegunIntake {
  readonly request: ParsedSubmitRequest;
  readonly perceived: Perceived | null;
  readonly intent_id: string;
  /** The schedule whose instant begins the work; absent if a request does. */
  readonly schedule?: ScheduleOrigin;
}

/** A call of something outside that failed, or a message of its that is malformed. */
export interface ExternalFailure {
  readonly request_id: string;
  readonly error: KernelError;
}

export const t1 = {
  normalize: data<NormalizeQuestion, Intake, SubmitResponse>("SubmitRequest", "NormalizedIntent", {
    module: "normalizer",
    function: "normalize",
    next: 6,
  }),
  formatFailure: data<ExternalFailure, RpcMessage>("ExternalFailure", "RpcErrorResponse", {
    module: "input_validation",
    function: "format_failure",
  }),
};
