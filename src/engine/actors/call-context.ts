/**
 * The operator call that a tool call's Signal belongs to, on its way from T4 to T0.
 *
 * Owns: the association of the two for the lifetime of the Signal. Never: puts a function into a Signal's body, which
 * stays plain data. A Signal from elsewhere has no call.
 */
import type { Signal } from "../../contract/signal.ts";
import type { ToolCallContext } from "../../contract/tool.ts";

const calls = new WeakMap<Signal, ToolCallContext>();

export function tieCall(signal: Signal, call: ToolCallContext): Signal {
  calls.set(signal, call);
  return signal;
}

export const callOf = (signal: Signal): ToolCallContext | undefined => calls.get(signal);
