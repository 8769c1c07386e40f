/**
 * A Signal as a JSON-RPC notification for the artifact bus.
 *
 * Owns: the method name kernel/signal/<kind>. It has no id: nobody waits for an answer.
 */
import type { RpcNotification } from "../contract/rpc.ts";
import type { Signal } from "../contract/signal.ts";

/** Renders a Signal. params are the Signal's fields; reviveSignal(params) rebuilds it. */
export function signalToNotification(signal: Signal): RpcNotification {
  return { jsonrpc: "2.0", method: signalMethod(signal), params: { ...signal } };
}

/** Returns the method: `kernel/signal/<kind>`. */
export function signalMethod({ kind }: Pick<Signal, "kind">): string {
  return `kernel/signal/${kind}`;
}
