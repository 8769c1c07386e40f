/**
 * The route of a call to a model endpoint: T7 decides it, and the ledger keeps the decision and counts the usage
 * (ROU-03, ROU-06).
 *
 * 1.  A decision is committed before the operator learns of it, and so is a refusal.
 * 2.  An endpoint that an earlier attempt of the same action used comes last, since that attempt failed.
 * 3.  An endpoint's budget is checked in the commit of the decision: a decision that came too late is asked for again,
 *     behind the events appended so far. Otherwise a call that was made ahead of its row could have the row refused, be
 *     made again and ask the same again, for ever.
 * 4.  A call whose attempt has ended gets no more routes; one attempt gets at most `limits.maxRoutes` of them.
 */

import { z } from "zod";
import type { Ceiling } from "../../../contract/budget.ts";
import { type KernelError, raise } from "../../../contract/error.ts";
import { kernelError } from "../../../contract/error-codes.ts";
import { draft, type EventDraft } from "../../../contract/event.ts";
import { withoutUnset } from "../../../contract/json.ts";
import { t7 } from "../../../contract/messages/t7.ts";
import {
  type ModelEndpoint,
  type RouteAnswer,
  type RouteDecision,
  type RouteQuestion,
  RouteRequest,
} from "../../../contract/model-route.ts";
import { addMoney, smallestMoney } from "../../../contract/money.ts";
import type { CallOf } from "../decide/run/input.ts";
import { toTier } from "../decide/run/intention.ts";
import { oodaRef, type Run } from "../decide/run/run.ts";
import { ask } from "./ask.ts";
import type { Calling } from "./call-operator.ts";

const routeRef = oodaRef("route");

export class RouteCall {
  readonly #at: Calling;
  readonly #call: CallOf;
  readonly #signal: AbortSignal;
  #asked = 0;
  #ended = false;

  /** @param signal fires when the workflow is cancelled or taken over: no model is asked any more. */
  constructor(at: Calling, call: CallOf, signal: AbortSignal) {
    this.#at = at;
    this.#call = call;
    this.#signal = signal;
  }

  async route(asking: RouteQuestion = {}): Promise<RouteDecision> {
    const at = this.#at;
    const call = this.#call;
    this.#ensureOpen();
    this.#asked += 1;
    checkLimit(this.#asked, at.runtime.limits.maxRoutes);
    const request = readRequest(asking, failedBefore(at.run, call));
    for (;;) {
      await at.saved();
      const answer = await askRouter(at, request);
      this.#ensureOpen();
      if (await at.note(call, [routeDraft(call, request, answer)])) return answer.decision ?? raise(answer.refusal);
    }
  }

  /** Marks the attempt as ended. */
  end(): void {
    this.#ended = true;
  }

  #ensureOpen(): void {
    const { run } = this.#at;
    this.#signal.throwIfAborted();
    if (run.log.lost !== null) raise(run.log.lost);
    if (this.#ended)
      raise(kernelError("T4_WORKFLOW_CONFLICT", "the attempt that asks for a model has ended", routeRef));
  }
}

/** Returns the endpoints that earlier attempts of the action used. */
const failedBefore = ({ log }: Run, { action_id, attempt }: CallOf): readonly string[] =>
  log.record.routes.filter((r) => r.action_id === action_id && r.attempt < attempt).map((r) => r.endpoint);

function routeDraft({ action_id, attempt, step_id }: CallOf, request: RouteRequest, answer: RouteAnswer): EventDraft {
  const decided = draft("ROUTE_DECIDED", { action_id, attempt, request, ...answer }, step_id);
  const budget = answer.decision?.endpoint.budget;
  return budget === undefined ? decided : { ...decided, ceilings: [ceilingOf(budget)] };
}

/**
 * Returns the ceilings of an endpoint's budget; an amount that it leaves out has none. The money of a call is known
 * when the call ends, so a route needs some money that is left, as T7 demands it.
 */
function ceilingOf({ max_tokens, max_money, max_invocations }: NonNullable<ModelEndpoint["budget"]>): Ceiling {
  const money = max_money === undefined ? undefined : addMoney(max_money, smallestMoney, -1);
  return withoutUnset({ tokens: max_tokens, money, invocations: max_invocations });
}

function checkLimit(asked: number, limit: number): void {
  if (asked <= limit) return;
  raise(
    kernelError("T5_BUDGET_EXHAUSTED", `one attempt routes at most limits.maxRoutes = ${limit} times`, routeRef, {
      detail: { limit },
    }),
  );
}

/** Reads an operator's request for a route. @throws KernelErrorException T0_VALIDATION_SCHEMA_MISMATCH. */
function readRequest(asking: RouteQuestion, failed: readonly string[]): RouteRequest {
  const parsed = RouteRequest.safeParse(asking);
  if (parsed.success) return { ...parsed.data, avoid: [...new Set([...parsed.data.avoid, ...failed])] };
  const message = `the route request: ${z.prettifyError(parsed.error)}`;
  return raise(kernelError("T0_VALIDATION_SCHEMA_MISMATCH", message, routeRef));
}

async function askRouter(at: Calling, request: RouteRequest): Promise<RouteAnswer> {
  const { error, data } = await ask(toTier(t7.routeModel, { fn: "route", data: { request } }), at);
  return error === null ? decidedBy(data) : refusedBy(error);
}

const decidedBy = (decision: RouteDecision): RouteAnswer => ({
  decision,
  refusal: null,
  exhausted: decision.reason.kind === "Primary" ? [] : decision.reason.skipped,
});

function refusedBy(refusal: KernelError): RouteAnswer {
  const { exhausted = [] } = refusal.detail as { readonly exhausted?: readonly string[] };
  return { decision: null, refusal, exhausted };
}
