/**
 * A call's way to a model endpoint: T7 decides, the ledger keeps the decision, T7 is told what was used (ROU-03, ROU-06).
 *
 * C1  A decision is committed before the operator hears of it, and a refusal as well.
 * C2  An endpoint that an earlier attempt of the same action went to is asked for last: that attempt failed.
 * C3  A call whose attempt has ended routes no more; one attempt routes at most `limits.maxRoutes` times.
 */
import { z } from "zod";
import type { Usage } from "../../../contract/action.ts";
import { type KernelError, raise } from "../../../contract/error.ts";
import { kernelError } from "../../../contract/error-codes.ts";
import { draft } from "../../../contract/event.ts";
import {
  type RouteAnswer,
  type RouteDecision,
  type RouteQuestion,
  RouteRequest,
} from "../../../contract/model-route.ts";
import type { OperatorCall } from "../../../contract/operator.ts";
import type { Result } from "../../../contract/result.ts";
import { dataOf } from "../../../runtime/kit.ts";
import type { CallOf } from "../decide/input.ts";
import { oodaRef } from "../decide/run.ts";
import type { Calling } from "./call-operator.ts";

export interface RouteCall {
  readonly route: OperatorCall["route"];
  /** The attempt has ended with this usage. */
  readonly end: (usage: Usage) => void;
}

const routeRef = oodaRef("route");

export function createRouteCall(at: Calling, call: CallOf): RouteCall {
  const { run, kit } = at;
  const { action_id, attempt, step_id } = call;
  /** Endpoints that this attempt went to, and the tokens set aside at each. */
  const taken = new Map<string, number>();
  let asked = 0;
  let ended = false;
  const ensureOpen = (): void => {
    at.signal.throwIfAborted();
    if (run.log.lost !== null) raise(run.log.lost);
    if (ended) raise(kernelError("T4_WORKFLOW_CONFLICT", "the attempt that asks for a model has ended", routeRef));
  };
  return {
    async route(asking = {}) {
      ensureOpen();
      asked += 1;
      checkLimit(asked, kit.limits.maxRoutes);
      const { routes } = run.log.record;
      const failed = routes.filter((r) => r.action_id === action_id && r.attempt < attempt).map((r) => r.endpoint);
      const request = readRequest(asking, failed);
      const answer = await askRouter(at, request);
      ensureOpen();
      await at.note(call, [draft("ROUTE_DECIDED", { action_id, attempt, request, ...answer }, step_id)]);
      if (answer.decision === null) return raise(answer.refusal);
      taken.set(answer.decision.endpoint.name, request.expected_tokens);
      return answer.decision;
    },
    end({ model, tokens, cost }) {
      ended = true;
      const reserved_tokens = taken.get(model ?? "");
      if (model === undefined || reserved_tokens === undefined) return;
      const used = tokens?.total ?? reserved_tokens;
      const data = { endpoint: model, reserved_tokens, tokens: used, money: cost?.total ?? 0 };
      const { correlation_id } = run.log.identity;
      const from = { parentId: at.parentId };
      kit.send(7, kit.signals.createDataSignal(data, "ModelUsage", routeRef, correlation_id, null, from));
    },
  };
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

async function askRouter({ run, kit, parentId }: Calling, request: RouteRequest): Promise<RouteAnswer> {
  const data = { request, tenant_id: run.log.record.tenant_id };
  const { correlation_id } = run.log.identity;
  const signal = kit.signals.createDataSignal(data, "RouteRequest", routeRef, correlation_id, null, { parentId });
  const result = await kit.ask(7, signal);
  return result.status === "error" ? refusedBy(result) : decidedBy(dataOf<RouteDecision>(result));
}

const decidedBy = (decision: RouteDecision): RouteAnswer => ({
  decision,
  refusal: null,
  exhausted: decision.reason.kind === "Primary" ? [] : decision.reason.skipped,
});

function refusedBy(result: Result): RouteAnswer {
  const refusal = result.error as KernelError;
  const { exhausted = [] } = refusal.detail as { readonly exhausted?: readonly string[] };
  return { decision: null, refusal, exhausted };
}
