/**
 * Reports each answered request to the host, for logs and measurements.
 *
 * 1.  Nothing is reported that a caller could have put a secret into: no address, header, parameter or body.
 * 2.  An observer that throws, at once or later, affects no answer and no process.
 */
import { matchedRoutes } from "hono/route";
import { callAside } from "../../contract/maybe-promise.ts";
import type { App, Call } from "./edge.ts";
import type { HttpSeen, ResolvedHttpOptions } from "./http-options.ts";

const methods = new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "CONNECT", "TRACE", "QUERY"]);

/** Adds the observation, the first step of every request; nothing if there is no observer. */
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

/** Returns the template of the matched route; steps of every request are no routes. */
const templateOf = (call: Call): string =>
  matchedRoutes(call).findLast(({ path }) => path !== "*" && path !== "/*")?.path ?? "unmatched";
