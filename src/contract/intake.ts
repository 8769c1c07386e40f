/**
 * The record that intake passes from tier to tier: T0 creates it, T1 adds the intent, T6 chooses the pipeline, and
 * T4 appends it as INTENT_RECEIVED.
 */
import type { EventPayloads } from "./event.ts";

type Received = EventPayloads["INTENT_RECEIVED"];

/** The intent is known (T1). */
export interface Intake extends Omit<Received, "pipeline" | "complexity"> {
  readonly workflow_id: string;
  readonly tenant_id: string | number;
  readonly thread_id: string | number | null;
}

/** The part of a request before its intent is known. */
export type BegunIntake = Omit<Intake, "intent" | "domain" | "urgency" | "warnings" | "tenant_id" | "thread_id">;
