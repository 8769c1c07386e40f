/** The functions that make rows of the error catalogue, with defaults that follow from the category. */
import type { ErrorCategory, Severity } from "./kernel-error.ts";

/** One row of the catalogue. `next` is one plain sentence that tells a person what to do about the error. */
export type ErrorCodeRow = {
  readonly category: ErrorCategory;
  readonly severity: Severity;
  readonly retryable: boolean;
  readonly http: number;
  readonly rpc: number;
  readonly next: string;
};

type RowOptions = {
  readonly severity?: Severity;
  readonly retryable?: boolean;
  readonly http?: number;
  readonly rpc?: number;
};

/** The HTTP status of each category of errors. */
export const httpStatusByCategory = { input: 400, processing: 500, external: 502, resource: 429, policy: 403 } as const;

/** The JSON-RPC code of each category of errors. */
export const rpcCodeByCategory = {
  input: -32602,
  processing: -32603,
  external: -32003,
  resource: -32603,
  policy: -32600,
} as const;

function row(category: ErrorCategory, severity: Severity, next: string, options: RowOptions): ErrorCodeRow {
  return Object.freeze({
    category,
    severity: options.severity ?? severity,
    retryable: options.retryable ?? false,
    http: options.http ?? httpStatusByCategory[category],
    rpc: options.rpc ?? rpcCodeByCategory[category],
    next,
  });
}

export const input = (next: string, options: RowOptions = {}) => row("input", "transient", next, options);
export const processing = (next: string, options: RowOptions = {}) => row("processing", "fatal", next, options);
export const external = (next: string, options: RowOptions = {}) =>
  row("external", "transient", next, { retryable: true, ...options });
export const resource = (next: string, options: RowOptions = {}) => row("resource", "fatal", next, options);
export const policy = (next: string, options: RowOptions = {}) => row("policy", "fatal", next, options);

export const degraded = { severity: "degraded" } as const;
export const busy = { severity: "transient", retryable: true } as const;
