/**
 * The lifecycle of a kernel: opens its ledger, serves, drains, stops.
 *
 * Owns: when a kernel accepts requests. Never: the requests.
 * 1.  Nobody has a kernel before it is ready, so that nothing stops one that opens. Only a ready kernel accepts work; a
 *     draining one finishes what it holds.
 */
import { setup } from "xstate";

/** The events that move a kernel. */
export type KernelEvent =
  | { readonly type: "OPENED" }
  | { readonly type: "OPEN_FAILED" }
  | { readonly type: "STOP" }
  | { readonly type: "DRAINED" };

/** The lifecycle of a kernel. */
export const kernelMachine = setup({ types: { events: {} as KernelEvent } }).createMachine({
  id: "kernel",
  initial: "opening",
  states: {
    opening: { description: "The ledger is being opened.", on: { OPENED: "ready", OPEN_FAILED: "failed" } },
    ready: { description: "It accepts work.", on: { STOP: "draining" } },
    draining: { description: "It finishes what it holds and accepts nothing more.", on: { DRAINED: "stopped" } },
    failed: { description: "The ledger could not be opened.", type: "final" },
    stopped: { description: "It has let go of everything.", type: "final" },
  },
});
