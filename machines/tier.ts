/**
 * The lifecycle of a tier actor: awake or dormant, and restarted after a crash.
 *
 * Owns: whether a tier's door accepts work. Never: the work (each tier's own functions).
 * 1.  A dormant tier answers SKIP; it never loses a Signal.
 * 2.  A crash is followed by a restart, up to the supervisor's limit; then the tier has failed and the kernel reports
 *     it. Nothing comes between the two: a restart is over within its turn.
 */
import { setup } from "xstate";

/** The events that move a tier. */
export type TierEvent =
  | { readonly type: "ACTIVATE" }
  | { readonly type: "SLEEP" }
  | { readonly type: "CRASHED" }
  | { readonly type: "RESTARTED" }
  | { readonly type: "GAVE_UP" }
  | { readonly type: "STOP" };

/** The lifecycle of a tier. */
export const tierMachine = setup({ types: { events: {} as TierEvent } }).createMachine({
  id: "tier",
  initial: "active",
  states: {
    active: { description: "Its door is open.", on: { SLEEP: "dormant", CRASHED: "restarting", STOP: "stopped" } },
    dormant: { description: "It answers SKIP to all but activate.", on: { ACTIVATE: "active", STOP: "stopped" } },
    restarting: { description: "A fresh actor takes its place.", on: { RESTARTED: "active", GAVE_UP: "failed" } },
    failed: { description: "It crashed too often and stays down.", on: { STOP: "stopped" } },
    stopped: { description: "The kernel has stopped it.", type: "final" },
  },
});
