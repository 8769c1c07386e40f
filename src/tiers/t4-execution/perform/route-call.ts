/**
 * A call's way to a model endpoint: T7 decides, the ledger keeps the decision and counts what was used (ROU-03, ROU-06).
 *
 * 1.  A decision is committed before the operator hears of it, and a refusal as well.
 * 2.  An endpoint that an earlier attempt of the same action went to is asked for last: that attempt failed.
 * 3.  An endpoint's budget is held where the decision is committed: one that came too late is asked for again.
 *     It asks behind what is noted: another call may be trying for the same, and a call that was made ahead of its row would
 *     have a refused row decided, itself made, and the same asked anew, for ever.
 * 4.  A call whose attempt has ended routes no more; one attempt routes at most `limits.maxRoutes` times.
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
import type { CallOf } from "../decide/run/input.ts";
import { toTier } from "../decide/run/intention.ts";
import { oodaRef, type Run } from "../decide/run/run.ts";
import { ask } from "./ask.ts";
import type { Calling } from "./call-operator.ts";

const routeRef = oodaRef("route");

export class RouteCall {
  readonly #at: Calling;
  readonly #call: CallOf;
  #asked = 0;
  #ended = false;

  constructor(at: Calling, call: CallOf) {
    this.#at = at;
    this.#call = call;
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

  /** The attempt has ended. */
  end(): void {
    this.#ended = true;
  }

  #ensureOpen(): void {
    const { signal, run } = this.#at;
    signal.throwIfAborted();
    if (run.log.lost !== null) raise(run.log.lost);
    if (this.#ended)
      raise(kernelError("T4_WORKFLOW_CONFLICT", "the attempt that asks for a model has ended", routeRef));
  }
}

/** Endpoints that earlier attempts of the action went to. */
const failedBefore = ({ log }: Run, { action_id, attempt }: CallOf): readonly string[] =>
  log.record.routes.filter((r) => r.action_id === action_id && r.attempt < attempt).map((r) => r.endpoint);

function routeDraft({ action_id, attempt, step_id }: CallOf, request: RouteRequest, answer: RouteAnswer): EventDraft {
  const decided = draft("ROUTE_DECIDED", { action_id, attempt, request, ...answer }, step_id);
  const budget = answer.decision?.endpoint.budget;
  return budget === undefined ? decided : { ...decided, ceilings: [ceilingOf(budget)] };
}

/** What an endpoint's budget leaves out has no ceiling. */
function ceilingOf({ max_tokens, max_money, max_invocations }: NonNullable<ModelEndpoint["budget"]>): Ceiling {
  return withoutUnset({ tokens: max_tokens, money: max_money, invocations: max_invocations });
}

function checkLimit(asked: number, limit: number): void {
  if (asked <= limit) return;
  raise(
    kernelError("T5_BUDGET_EXHAUSTED", `one attempt routes at most limits.maxRoutes = ${limit} times`, routeRef, {
      detail: { limit },
    }),
  );
}

/** @throws KernelErrorException T0_VALIDATION_SCHEMA_MISMATCH. */
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
