/**
 * The one-time addresses of waits, at which senders without credentials answer them.
 *
 * 1.  The body is the payload as it is. Only POST does anything: a preview of the link changes nothing.
 * 2.  An unknown address uses up the allowance of unknown callers, and is answered alike whatever it names; a genuine
 *     one has an allowance of its own.
 */
import { z } from "zod";
import { JsonValue } from "../../../contract/json.ts";
import { KernelErrorException } from "../../../contract/kernel-error.ts";
import { WaitAnswered } from "../../../contract/wait-token.ts";
import { ProblemDetails } from "../../../index.ts";
import { addRoute, type Route } from "../add-route.ts";
import type { Admission } from "../admit-caller.ts";
import { answerJson } from "../answer.ts";
import type { Edge } from "../edge.ts";
import { createAllowances, refuseRate } from "../limit-rate.ts";
import { readJsonBody } from "../read-body.ts";

const problem = (description: string) =>
  ({ description, schema: ProblemDetails, mediaType: "application/problem+json" }) as const;

const waitRoute: Route = {
  method: "post",
  path: "/v1/waits/:token",
  operation: "answerWait",
  summary: "Answers the wait of this one-time address; the body is the payload",
  description: "The same answer again is received again; another one is refused, and so is one that comes too late.",
  needs: "open",
  params: z.object({ token: z.string().describe("The last part of the address.") }),
  body: JsonValue,
  bodyOptional: true,
  answers: {
    200: { description: "Received.", schema: WaitAnswered },
    409: problem("The wait has another answer already."),
    410: problem("The wait is over."),
    422: problem("The payload does not have the form that the wait asks."),
  },
};

export function addWaits(edge: Edge, { failures }: Admission): void {
  const { kernel, options } = edge;
  const { limits, clock } = options;
  const rate = { perSecond: limits.maxRequestsPerSecond, burst: limits.maxRequestBurst };
  const tokens = createAllowances(rate, limits.maxTrackedCallers, clock.now);
  addRoute(edge, waitRoute, async (call) => {
    const token = call.req.param("token") ?? "";
    if (!tokens.take(token)) refuseRate("maxRequestsPerSecond");
    const payload = (await readJsonBody(call.req.raw, limits)) as z.output<typeof JsonValue>;
    try {
      return answerJson(await kernel.answerWait({ token, payload }));
    } catch (thrown) {
      const isUnknown = thrown instanceof KernelErrorException && thrown.error.code === "T4_WAIT_TOKEN_UNKNOWN";
      if (isUnknown && !failures.take()) refuseRate("maxFailedCallsPerSecond");
      throw thrown;
    }
  });
}
