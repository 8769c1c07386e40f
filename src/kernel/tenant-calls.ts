/** The calls of a kernel on the work of a tenant: its halts, grants, stand-ins, decisions, queues and budgets. */
import type { Caller } from "../contract/auth-context.ts";
import type { BudgetFilter, ListedBudget } from "../contract/budget-page.ts";
import type { Decision, DecisionFilter } from "../contract/decision.ts";
import type {
  GrantFilter,
  GrantRequest,
  GrantResponse,
  GrantStanding,
  RevokeGrantRequest,
  RevokeGrantResponse,
} from "../contract/grant-orders.ts";
import type { HaltStanding } from "../contract/halt.ts";
import type { HaltRequest, HaltResponse, LiftRequest, LiftResponse } from "../contract/halt-orders.ts";
import type { QueueLimitsRequest, QueueLimitsResponse } from "../contract/queue-limits.ts";
import type { ListedQueue, QueueFilter } from "../contract/queue-page.ts";
import type { StandInStanding } from "../contract/stand-in.ts";
import type {
  EndStandInRequest,
  EndStandInResponse,
  StandInFilter,
  StandInRequest,
  StandInResponse,
} from "../contract/stand-in-orders.ts";
import type { Listed } from "../contract/workflow-summary.ts";

/**
 * The part of a kernel on the work of a tenant: halts stop it, grants approve it ahead, stand-ins decide for people who
 * are away, queues order it.
 */
export interface TenantCalls {
  /**
   * Stops work of the tenant until the halt is lifted: all of it, or that of a capability, an operator or a principal.
   * It takes effect in every process before its next call. What it holds does not fail; requests are accepted and held.
   * The same order again gives the same halt.
   */
  halt(request: HaltRequest): Promise<HaltResponse>;
  /** Lifts a halt; what it held goes on. Idempotent. @throws T5_HALT_NOT_FOUND. */
  lift(request: LiftRequest): Promise<LiftResponse>;
  /** Returns the halts of a tenant that hold, oldest first, with how much each holds. */
  halts(tenantId: string | number, caller?: Caller): Promise<readonly HaltStanding[]>;
  /**
   * Approves ahead what the rule of a gate asks about: calls of the gate's operator, by who has a seat of their own
   * there. The same order again gives the same grant. @throws T5_GRANT_REFUSED for a gate that one plain approval does
   * not close, T5_GATE_NOT_FOUND, T5_AUTHZ_FORBIDDEN.
   */
  grant(request: GrantRequest): Promise<GrantResponse>;
  /** Ends a grant: later calls ask a person again. @throws T5_GRANT_NOT_FOUND. */
  revokeGrant(request: RevokeGrantRequest): Promise<RevokeGrantResponse>;
  /** Returns the grants of a tenant that are not revoked, oldest first, with what was used of each. */
  grants(filter?: GrantFilter, caller?: Caller): Promise<readonly GrantStanding[]>;
  /**
   * Names who takes one's seats at all gates, open now or later, until an instant: while one is away. Each of their
   * votes is judged as by a delegation at its gate. The same order again gives the same answer. @throws
   * T5_STAND_IN_REFUSED for oneself, and for an end that is past or more than 90 days ahead.
   */
  standIn(request: StandInRequest): Promise<StandInResponse>;
  /** Ends such an order before its time. @throws T5_STAND_IN_NOT_FOUND, T5_AUTHZ_FORBIDDEN for one of somebody else. */
  endStandIn(request: EndStandInRequest): Promise<EndStandInResponse>;
  /** Returns who stands in for whom, now or later, in the order in which they were named. `mine` takes a caller. */
  standIns(filter?: StandInFilter, caller?: Caller): Promise<readonly StandInStanding[]>;
  /**
   * Returns the history of decisions: what people approved, rejected, edited or withdrew at gates, newest first. `mine`
   * takes a caller.
   */
  decisions(filter?: DecisionFilter, caller?: Caller): Promise<Listed<Decision>>;
  /**
   * Sets the limits of a queue in place of those that its capabilities and requests state, or (null) lifts those that
   * were set. Workflows that run go on. Takes the scope halt:write. The same order again changes nothing.
   */
  limitQueue(request: QueueLimitsRequest): Promise<QueueLimitsResponse>;
  /**
   * Lists the queues of a tenant in which workflows run or wait, by name and key; the embedding host names the tenant
   * in the filter.
   */
  queues(filter?: QueueFilter, caller?: Caller): Promise<readonly ListedQueue[]>;
  /**
   * Lists the ceilings of this kernel with what the tenant has used of each, those nearest to their ceilings first; the
   * embedding host names the tenant in the filter.
   */
  budgets(filter?: BudgetFilter, caller?: Caller): Promise<readonly ListedBudget[]>;
}
