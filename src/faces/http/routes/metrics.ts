/**
 * Measurements for Prometheus.
 *
 * 1.  Measurements are over all tenants, so no role of a tenant reaches them: the credential itself must name the
 *     scope.
 */
import { hasScope } from "../../../contract/auth-context.ts";
import { kernelError } from "../../../contract/error-codes.ts";
import { raise } from "../../../contract/kernel-error.ts";
import { moduleRef } from "../../../contract/module-ref.ts";
import { addRoute } from "../add-route.ts";
import type { Edge } from "../edge.ts";
import type { HttpCaller } from "../http-options.ts";

const metricsRef = moduleRef(0, "http", "metrics");
const needs = "metrics:read";
const mediaType = "text/plain; version=0.0.4; charset=utf-8";

export function addMetrics(edge: Edge): void {
  const { metrics } = edge.options;
  if (metrics === undefined) return;
  const route = {
    method: "get",
    path: "/metrics",
    operation: "readMetrics",
    summary: "What this process has measured, over all tenants, in Prometheus' text",
    needs,
    answers: { 200: { description: "the measurements", mediaType } },
  } as const;
  addRoute(edge, route, async (call) => {
    requireNamedScope(call.get("caller"));
    return new Response(await metrics(), { headers: { "content-type": mediaType } });
  });
}

/**
 * Checks the scope. @throws KernelErrorException T5_AUTHZ_FORBIDDEN, also for credentials that are not narrowed at all.
 */
function requireNamedScope({ scopes = [] }: HttpCaller): void {
  if (hasScope(scopes, needs)) return;
  raise(
    kernelError("T5_AUTHZ_FORBIDDEN", `the credential does not name the scope ${needs}`, metricsRef, {
      detail: { needs },
    }),
  );
}
