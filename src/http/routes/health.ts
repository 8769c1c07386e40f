/**
 * Whether the process lives, and whether its kernel serves. Neither asks who calls, neither tells anything else.
 */
import { z } from "zod";
import { addRoute, type Route } from "../add-route.ts";
import { answerJson } from "../answer.ts";
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
  summary: "Whether the kernel serves",
  needs: "open",
  answers: {
    200: { description: "It does.", schema: statusOf("ready") },
    503: { description: "It does not, or not yet.", schema: statusOf("unavailable") },
  },
};

export function addHealth(edge: Edge): void {
  addRoute(edge, healthRoute, () => answerJson({ status: "ok" }));
  addRoute(edge, readyRoute, async () => {
    try {
      await edge.kernel.gates({ limit: 1 });
      return answerJson({ status: "ready" });
    } catch {
      return answerJson({ status: "unavailable" }, 503);
    }
  });
}
