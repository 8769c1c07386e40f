/** The messages that T2, cognition, answers. */
import type { AuthContext, Caller } from "../auth-context.ts";
import type { ContextBundle } from "../context-bundle.ts";
import type { FederatedSyncReport, JudgedChange } from "../federation.ts";
import type { Intent } from "../intent.ts";
import type { JsonObject } from "../json.ts";
import { messagesOf } from "./message.ts";

const { data } = messagesOf(2);

export interface ContextQuestion {
  readonly intent: Intent;
  readonly auth: AuthContext;
  readonly thread_id: string | number | null;
  readonly workflow_id: string;
  readonly objective: string | null;
}

export interface ContextAnswer {
  readonly bundle: ContextBundle;
  readonly cache_hit: boolean;
}

/** Changes of other replicas, each with why it was refused, if it was. */
export interface JudgedChanges {
  readonly tenant_id: string | number;
  readonly changes: readonly JudgedChange[];
  readonly caller: Caller | null;
}

export interface GoalCheck {
  readonly goals: readonly { readonly id: string; readonly depends_on: readonly string[] }[];
}

/** A tool call that a tool server refused as malformed. */
export interface RepairQuestion {
  readonly params: JsonObject;
  readonly message: string;
  readonly data: JsonObject;
  /** JSON Schema of the tool's input, where it is known. */
  readonly input_schema: JsonObject | null;
}

/** `changed` is false if nothing could be repaired. */
export interface Repaired {
  readonly params: JsonObject;
  readonly changed: boolean;
}

export const t2 = {
  buildContext: data<ContextQuestion, ContextAnswer>("ContextRequest", "ContextAnswer", {
    module: "context",
    function: "build",
  }),
  mergeChanges: data<JudgedChanges, FederatedSyncReport>("JudgedChanges", "FederatedSyncReport", {
    module: "federation",
    function: "merge",
  }),
  checkGoals: data<GoalCheck, { readonly goals: number }>("GoalCheck", "GoalsChecked", {
    module: "decomposition",
    function: "check_goals",
  }),
  repair: data<RepairQuestion, Repaired>("Repair", "Repaired", { module: "curiosity", function: "repair" }),
};
