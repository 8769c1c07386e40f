/** The messages that T7, orchestration, answers. */
import type { KernelError } from "../error.ts";
import type { PrincipalRef } from "../gate-vote.ts";
import type { RouteDecision, RouteQuestion } from "../model-route.ts";
import type { InFlightWait } from "../queue.ts";
import { messagesOf } from "./message.ts";

const { data, relay, relayCommand } = messagesOf(7);

/** A workflow and the principal who requested it; null if the principal is not known here. */
export interface Running {
  readonly workflow_id: string;
  readonly tenant_id: string | number;
  readonly principal: PrincipalRef | null;
  /** A child gets a place at once: its parent, which waits for it, would otherwise keep the one that it needs. */
  readonly isChild?: boolean;
}

const orchestrator = (fn: string) => ({ module: "team_orchestrator", function: fn });
const router = (fn: string) => ({ module: "task_router", function: fn, next: 4 }) as const;

/** The answer to a registration: the workflow has a place, or waits for one behind so many others. */
export interface Registered {
  readonly workflow_id: string;
  readonly running: number;
  /** Null if the workflow has a place. */
  readonly waits: InFlightWait | null;
}

export const t7 = {
  register: data<Running, Registered>("Registration", "Registered", orchestrator("register")),
  /** Answered once an accepted workflow has a place. */
  enter: data<Running, { readonly workflow_id: string }>("Entry", "Entered", orchestrator("enter")),
  release: relay<{ readonly workflow_id: string }>("Release", orchestrator("release")),
  /** The caller of a submit has left: it is to get no place. */
  abandon: relay<{ readonly workflow_id: string }>("Abandonment", orchestrator("abandon")),
  routeModel: data<{ readonly request: RouteQuestion }, RouteDecision>("RouteRequest", "RouteDecision", {
    module: "model_router",
    function: "route",
  }),
  retry: relayCommand<object>("retry", router("retry")),
  cancel: relayCommand<object>("abort", router("abort")),
  escalate: relay<KernelError>("KernelError", orchestrator("escalate")),
};
