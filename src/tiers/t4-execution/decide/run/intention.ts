/**
 * What a turn asks for: questions, answered within the turn where that can be, and intentions, performed once the row that
 * holds what was decided before them is committed. Plain data.
 */
import type { KernelError } from "../../../../contract/error.ts";
import type { Json, JsonObject } from "../../../../contract/json.ts";
import type { Tier } from "../../../../engine/actors/bus.ts";
import type { CallOf } from "./input.ts";

/** A question to a tier, as a Signal, or to a host's code. None has an effect outside. */
export type Question =
  | { readonly ask: "data"; readonly to: Tier; readonly schema: string; readonly fn: string; readonly data: unknown }
  | {
      readonly ask: "text";
      readonly to: Tier;
      readonly fn: string;
      readonly text: string;
      readonly tags: Readonly<Record<string, string>>;
    }
  | { readonly ask: "error"; readonly to: Tier; readonly fn: string; readonly error: KernelError }
  | { readonly ask: "initialize" }
  | { readonly ask: "check"; readonly payload: Json }
  /** What the input schema of an operator makes of params. */
  | { readonly ask: "parse"; readonly name: string; readonly version: string; readonly params: Json }
  /** What the output schema of an operator makes of a result that a person states. */
  | { readonly ask: "parse_result"; readonly name: string; readonly version: string; readonly result: Json }
  | { readonly ask: "screen"; readonly result: Json }
  | { readonly ask: "check_call" | "show"; readonly step_id: string; readonly payload: Json }
  | {
      readonly ask: "hook";
      readonly step_id: string;
      readonly name: string;
      readonly phase: "before" | "after" | "onError";
    }
  /** Answered once everything noted is in the ledger. */
  | { readonly ask: "saved" }
  | { readonly ask: "shared_key"; readonly key: string }
  | { readonly ask: "draft"; readonly workflow_id: string; readonly step_id: string };

export type IntentionOf<D extends Intention["do"]> = Extract<Intention, { readonly do: D }>;

export type Intention =
  | ({
      readonly do: "call";
      readonly key: string;
      readonly payload: Json;
      readonly timeout_ms: number;
      /** No row knows its action yet: of one that is refused nothing that the call says is heard. */
      readonly isFirst: boolean;
    } & CallOf)
  /** Another attempt waits for a call that is under way. */
  | ({ readonly do: "join"; readonly key: string; readonly timeout_ms: number } & CallOf)
  | { readonly do: "abort"; readonly reason: string }
  | {
      readonly do: "tell";
      readonly to: Tier;
      readonly fn: string;
      readonly schema: string;
      readonly data: JsonObject;
      readonly tags?: Readonly<Record<string, string>>;
    }
  | {
      readonly do: "stream";
      readonly text: string;
      readonly sequence: number;
      readonly final: boolean;
    }
  | { readonly do: "answer"; readonly re: number; readonly data: unknown }
  | { readonly do: "refuse"; readonly re: number; readonly error: KernelError };
