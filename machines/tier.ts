/**
 * The lifecycle of a tier actor: awake or dormant, and back on its feet after a crash.
 *
 * Owns: whether a tier's door lets work in. Never: the work (each tier's own functions).
 * T1  A dormant tier answers SKIP; it never loses a Signal.
 * T2  A crash is followed by a restart, up to the supervisor's limit; then the tier has failed and the kernel says so.
 *     Nothing comes between the two: a restart is over within its turn.
 */
import { setup } from "xstate";

export type TierEvent =
  | { readonly type: "ACTIVATE" }
  | { readonly type: "SLEEP" }
  | { readonly type: "CRASHED" }
  | { readonly type: "RESTARTED" }
  | { readonly type: "GAVE_UP" }
  | { readonly type: "STOP" };

export const tierMachine = setup({ types: { events: {} as TierEvent } }).createMachine({
  id: "tier",
  initial: "active",
  states: {
    active: { on: { SLEEP: "dormant", CRASHED: "restarting", STOP: "stopped" } },
    dormant: { on: { ACTIVATE: "active", STOP: "stopped" } },
    restarting: { on: { RESTARTED: "active", GAVE_UP: "failed" } },
    failed: { on: { STOP: "stopped" } },
    stopped: { type: "final" },
  },
});
