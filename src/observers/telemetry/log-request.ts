/** Logs one line per request over HTTP: its route, its answer, and its caller. */
import type { Logger } from "../../index.ts";

/** A request that was answered, without any text of its caller. */
export interface HttpRequestSeen {
  readonly method: string;
  /** The template of the route, never the address asked for. */
  readonly route: string;
  readonly status: number;
  readonly ms: number;
  /** The request's id, which its answer carries as `x-request-id`. */
  readonly trace: string;
  readonly caller: {
    readonly tenant_id: string | number;
    readonly principal: { readonly type: string; readonly id: string | number };
  } | null;
}

export function logRequest({ trace, caller, ...seen }: HttpRequestSeen, logger: Logger): unknown {
  const by = {
    tenant_id: caller?.tenant_id ?? null,
    principal_type: caller?.principal.type ?? null,
    principal_id: caller?.principal.id ?? null,
  };
  return logger[seen.status >= 500 ? "error" : "info"]({ ...seen, request_id: trace, ...by }, "a request was answered");
}
