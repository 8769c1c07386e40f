/** The origin of a workflow that repeats the work of another, as its request carries it. */
import type { ForkRequest, TakenRecord } from "../../contract/fork.ts";
import type { PrincipalRef } from "../../contract/gate-vote.ts";
import type { ScheduleOrigin, SubmitOptions } from "../../contract/intent.ts";
import type { ChildRequest, RepeatedWork } from "../../contract/messages/t0.ts";

/** The origin of a regenerated workflow. */
export interface Lineage extends RepeatedWork {
  readonly correlation_id: string;
  /** The principals who have requested the work so far. */
  readonly requesters: readonly PrincipalRef[];
  /** Feedback for the operators of the repeated work. */
  readonly feedback?: string | undefined;
}

/** The part of a record that a forked workflow takes over, and the order that asks for it. */
export interface ForkLineage {
  readonly taken: TakenRecord;
  readonly requesters: readonly PrincipalRef[];
  /** The members of the order that make it the same order when it is given again. */
  readonly asked: Pick<ForkRequest, "at" | "outputs">;
}

/** The origin of a request, and the signal that ends its waiting. */
export interface SubmitMore extends SubmitOptions {
  readonly lineage?: Lineage;
  /** The record that a fork takes over. */
  readonly fork?: ForkLineage;
  /** The step whose child the request begins. */
  readonly child?: ChildOrigin;
  /** The schedule whose instant begins the work. */
  readonly schedule?: ScheduleOrigin;
}

/** The parent of a child, and what the child has of it. */
export type ChildOrigin = Omit<ChildRequest, "request" | "repeats">;
