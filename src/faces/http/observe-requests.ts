/**
 * Tells the host of each request that was answered: what a log and measurements need.
 *
 * 1.  Nothing is told that a caller could have put a secret into: no address, header, parameter or body.
 * 2.  An observer that throws, at once or later, harms no answer and no process.
 */
import { matchedRoutes } from "hono/route";
import { callAside } from "../../contract/maybe-promise.ts";
import type { App, Call } from "./edge.ts";
import type { HttpSeen, ResolvedHttpOptions } from "./http-options.ts";

const methods = new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "CONNECT", "TRACE", "QUERY"]);

/** The first of all that a request passes; nothing where nobody observes. */
export function addObservation(app: App, { observe, clock }: ResolvedHttpOptions): void {
  if (observe === undefined) return;
  app.use(async (call, next) => {
    const began = clock.now();
    await next();
    callAside(
      () => observe(describeRequest(call, clock.now() - began)),
      () => undefined,
    );
  });
}

function describeRequest(call: Call, ms: number): HttpSeen {
  const { method } = call.req;
  return {
    method: methods.has(method) ? method : "_OTHER",
    route: templateOf(call),
    status: call.res.status,
    ms,
    trace: call.get("trace"),
    caller: call.get("caller") ?? null,
  };
}

/** What passes every request is no route. */
const templateOf = (call: Call): string =>
  matchedRoutes(call).findLast(({ path }) => path !== "*" && path !== "/*")?.path ?? "unmatched";
