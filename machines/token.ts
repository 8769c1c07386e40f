/**
 * The token lifecycle: submitted → scheduled → running → completed | failed | yielded; refused at admission, or
 * cancelled because a token that it depends on will never complete. Its events are the token's own, by their kinds.
 *
 * Owns: which token events a token accepts. Never: admission, order, budgets (T5 and the queue have those).
 * 1.  A token starts once, after admission; one that was refused or cancelled never starts.
 * 2.  `completed` includes failures, by its status.
 * 3.  A token that yields is over: its work continues in the tokens that it yielded, and its dependants wait for them.
 * 4.  An executor records memory, snapshots and events under its own labels only while its token runs.
 */
import { setup } from "xstate";

/** The events that move a token. */
export type TokenMachineEvent =
  | { readonly type: "scheduled" }
  | { readonly type: "started" }
  | { readonly type: "completed"; readonly status: string | null }
  | { readonly type: "yielded" }
  | { readonly type: "capability_violation" }
  | { readonly type: "resource_violation" }
  | { readonly type: "budget_violation" }
  | { readonly type: "snapshot_created" }
  | { readonly type: "memory_write" }
  | { readonly type: "memory_read" }
  | { readonly type: "custom"; readonly label: string | null };

/** The lifecycle of a token. */
export const tokenMachine = setup({
  types: { events: {} as TokenMachineEvent },
  guards: {
    failed: ({ event }) => event.type === "completed" && event.status === "failed",
    dependencyCancelled: ({ event }) => event.type === "custom" && event.label === "dependency_cancelled",
    ownLabel: ({ event }) => event.type === "custom" && event.label !== "dependency_cancelled",
  },
}).createMachine({
  id: "token",
  initial: "submitted",
  states: {
    submitted: { description: "It is on record.", on: { scheduled: "scheduled" } },
    scheduled: {
      description: "It waits for its turn by priority.",
      on: {
        started: "running",
        capability_violation: "refused",
        resource_violation: "refused",
        budget_violation: "refused",
        custom: { guard: "dependencyCancelled", target: "cancelled" },
      },
    },
    running: {
      description: "Its work is being done.",
      on: {
        memory_write: {},
        memory_read: {},
        custom: { guard: "ownLabel" },
        snapshot_created: {},
        completed: [{ guard: "failed", target: "failed" }, { target: "completed" }],
        yielded: "yielded",
      },
    },
    completed: { description: "Its work is done.", type: "final" },
    failed: { description: "Its work has failed.", type: "final" },
    yielded: { description: "It gave way; its work goes on as another token.", type: "final" },
    refused: { description: "A ceiling does not admit it.", type: "final" },
    cancelled: { description: "What it depends on did not succeed.", type: "final" },
  },
});
