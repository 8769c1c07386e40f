/**
 * The idempotency record of one key: the answer to a caller with the same key.
 *
 * Owns: whether a key may run again. Never: the result (the action ledger keeps it).
 * 1.  succeeded answers from the record for ever.
 * 2.  running answers "in progress"; a timeout of a call that may still take effect leaves it running.
 * 3.  failed_final answers with the same failure until the workflow is restarted (IDM-05) or a new plan repeats the
 *     call.
 * 4.  in_doubt is left only by an explicit settlement: done, retry or failed. Nothing is guessed.
 */
import { setup } from "xstate";

/** The events that move a call. */
export type ActionEvent =
  | { readonly type: "ACTION_STARTED" }
  | { readonly type: "ACTION_SUCCEEDED" }
  | { readonly type: "ACTION_FAILED"; readonly pending: boolean; readonly final: boolean }
  | { readonly type: "ACTION_IN_DOUBT" }
  | { readonly type: "ACTION_SETTLED"; readonly resolution: "done" | "retry" | "failed" }
  | { readonly type: "WORKFLOW_RESTARTED" };

/** The lifecycle of a call. */
export const actionMachine = setup({
  types: { events: {} as ActionEvent },
  guards: {
    pending: ({ event }) => event.type === "ACTION_FAILED" && event.pending,
    final: ({ event }) => event.type === "ACTION_FAILED" && event.final,
    done: ({ event }) => event.type === "ACTION_SETTLED" && event.resolution === "done",
    retry: ({ event }) => event.type === "ACTION_SETTLED" && event.resolution === "retry",
  },
}).createMachine({
  id: "action",
  initial: "unseen",
  states: {
    unseen: { description: "No call under this key is on record.", on: { ACTION_STARTED: "running" } },
    running: {
      description: "A call is under way.",
      on: {
        ACTION_STARTED: {},
        ACTION_SUCCEEDED: "succeeded",
        ACTION_FAILED: [
          { guard: "pending" },
          { guard: "final", target: "failed_final" },
          { target: "failed_retryable" },
        ],
        ACTION_IN_DOUBT: "in_doubt",
      },
    },
    failed_retryable: {
      description: "The last call failed and may be made again.",
      on: { ACTION_STARTED: "running", ACTION_SUCCEEDED: "succeeded" },
    },
    failed_final: {
      description: "Every further call of the plan is answered with this failure.",
      on: { WORKFLOW_RESTARTED: "failed_retryable", ACTION_STARTED: "running" },
    },
    in_doubt: {
      description: "Nobody knows whether it took effect.",
      on: {
        ACTION_SUCCEEDED: "succeeded",
        ACTION_SETTLED: [
          { guard: "done", target: "succeeded" },
          { guard: "retry", target: "failed_retryable" },
          { target: "failed_final" },
        ],
      },
    },
    succeeded: { description: "Every further call is answered with this result.", type: "final" },
  },
});
