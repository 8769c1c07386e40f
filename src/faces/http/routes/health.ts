/**
 * Reports whether the process lives, and whether its kernel serves, for process managers and load balancers.
 *
 * Never: asks who calls.
 * 1.  The reason of a kernel that does not serve is shown as a code of the catalogue, and nothing else.
 */
import { z } from "zod";
import { addRoute, type Route } from "../add-route.ts";
import { answerJson, errorOf } from "../answer.ts";
import type { Edge } from "../edge.ts";

const statusOf = (status: string) => z.object({ status: z.literal(status) });

const healthRoute: Route = {
  method: "get",
  path: "/health",
  operation: "readHealth",
  summary: "Whether the process lives",
  needs: "open",
  answers: { 200: { description: "It does.", schema: statusOf("ok") } },
};

const readyRoute: Route = {
  method: "get",
  path: "/ready",
  operation: "readReadiness",
  summary: "Whether the kernel takes requests and its ledger can be written",
  needs: "open",
  answers: {
    200: {
      description:
        "It does. `places_taken` counts workflows against `limits.maxInFlight`, `submits_waiting` who waits for one.",
      schema: statusOf("ready").extend({ places_taken: z.int(), submits_waiting: z.int() }),
    },
    503: {
      description: "It does not, or not yet: send requests elsewhere.",
      schema: z.object({ status: z.literal("unavailable"), code: z.string() }),
    },
  },
};

export function addHealth(edge: Edge): void {
  addRoute(edge, healthRoute, () => answerJson({ status: "ok" }));
  addRoute(edge, readyRoute, async () => {
    if (edge.drain.aborted) return answerUnready("T0_KERNEL_STOPPED");
    try {
      await edge.kernel.ready();
      const { places, submits } = edge.kernel.vitals();
      return answerJson({ status: "ready", places_taken: places, submits_waiting: submits });
    } catch (thrown) {
      return answerUnready(errorOf(thrown, edge.options.logger).code);
    }
  });
}

const answerUnready = (code: string): Response => answerJson({ status: "unavailable", code }, 503);
