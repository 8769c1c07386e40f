/**
 * Ids of spans, derived from the ledger: every process gives the same workflow the same trace and the same life the
 * same span.
 *
 * Owns: the derivation, and an id generator for the SDK that gives these ids to our spans and random ones to all
 * others.
 * 1.  An id is handed to the span that is being started and to no other; nothing is left behind.
 */
import { randomBytes } from "node:crypto";
import { sha256 } from "../../contract/digest.ts";
import type { Lifetime } from "./lifetime.ts";

/** Returns the trace of a workflow, as 32 hexadecimal digits. */
export const traceIdOf = (workflowId: string): string => sha256(`countersign/trace/${workflowId}`).slice(0, 32);

/** Calls and gates of one name may come again; steps and runs do not. */
export const spanIdOf = ({ kind, workflowId, key, began }: Lifetime): string =>
  spanIdFrom(workflowId, kind === "attempt" || kind === "gate" ? `${key}/${began}` : key);

/** Returns the span of a workflow's first run, the parent of all its other spans. */
export const rootSpanIdOf = (workflowId: string): string => spanIdFrom(workflowId, "workflow/1");

const spanIdFrom = (workflowId: string, key: string): string =>
  sha256(`countersign/span/${workflowId}/${key}`).slice(0, 16);

/** Satisfies the SDK's IdGenerator: give it to the tracer provider, and to the observer. */
export interface WorkflowIds {
  /** Makes the id of a trace: 32 hexadecimal digits. */
  readonly generateTraceId: () => string;
  /** Makes the id of a span: 16 hexadecimal digits. */
  readonly generateSpanId: () => string;
  /** Starts a span under these ids. */
  readonly starting: <T>(ids: { readonly traceId: string; readonly spanId: string }, start: () => T) => T;
}

/** Creates an id generator for the SDK that gives a workflow's spans the ids of its workflow, across restarts. */
export function workflowIds(): WorkflowIds {
  let next: { readonly traceId: string; readonly spanId: string } | null = null;
  return {
    generateTraceId: () => next?.traceId ?? randomBytes(16).toString("hex"),
    generateSpanId: () => next?.spanId ?? randomBytes(8).toString("hex"),
    starting(ids, start) {
      next = ids;
      try {
        return start();
      } finally {
        next = null;
      }
    },
  };
}
