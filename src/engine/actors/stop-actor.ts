/**
 * Stops an actor that was made with a parent. XState's public `stop` refuses non-root actors, and its `stopChild` works
 * only inside a machine; this function calls the method that the action calls. An upgrade of XState changes only this
 * file.
 */
import type { AnyActorRef } from "xstate";

export function stopActor(actor: AnyActorRef): void {
  (actor as unknown as { readonly _stop: () => void })._stop();
}
