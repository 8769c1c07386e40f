/** The parts that every route of one app shares: the kernel, the options, the caller and the request's id. */
import type { Context, Hono } from "hono";
import type { Kernel } from "../../index.ts";
import type { Route } from "./add-route.ts";
import type { Authenticated } from "./authenticate.ts";
import type { HttpCaller, ResolvedHttpOptions } from "./http-options.ts";
import type { OneAtATime } from "./one-at-a-time.ts";
import type { ReadTurns } from "./read-turns.ts";
import type { StreamPlaces } from "./stream-places.ts";
import type { UnreadAnswers } from "./unread-answers.ts";
import type { UnreadBytes } from "./unread-bytes.ts";

export interface Env {
  readonly Variables: { readonly caller: HttpCaller; readonly known: Authenticated; readonly trace: string };
}

export type App = Hono<Env>;
export type Call = Context<Env>;

export interface Edge {
  readonly app: App;
  readonly kernel: Kernel;
  readonly options: ResolvedHttpOptions;
  /** Every route of the app, as it was added. */
  readonly routes: Route[];
  /** Takes one more of a caller's allowance. @throws KernelErrorException T0_HTTP_RATE_LIMIT. */
  readonly spend: (caller: HttpCaller) => void;
  /** The places for open connections: streams, and requests that wait for a workflow. */
  readonly places: StreamPlaces;
  /** The order of reads. */
  readonly reads: ReadTurns;
  /** The answers that clients have requested and not read yet. */
  readonly unread: UnreadAnswers;
  /** Messages of streams that clients have not read yet. */
  readonly unreadMessages: UnreadBytes;
  /** Aborted once nothing more is to be sent here. */
  readonly drain: AbortSignal;
  /** The limit for expensive work: a replay, a what-if. */
  readonly heavy: OneAtATime;
}

export const workflowPath = "/v1/kernel/workflows/:id";
/** Returns the address at which an accepted workflow is read. */
export const locationOf = ({ workflow_id }: { readonly workflow_id: string }): string =>
  `/v1/kernel/workflows/${workflow_id}`;
export const workflowOf = (call: Call): string => call.req.param("id") ?? "";
