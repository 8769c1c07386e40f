/**
 * Stopping an actor that was made with a parent. XState's public `stop` refuses non-root actors, and its `stopChild` works
 * from inside a machine only; this calls what that action calls. One place, so that an upgrade has one place to look.
 */
import type { AnyActorRef } from "xstate";

export function stopActor(actor: AnyActorRef): void {
  (actor as unknown as { readonly _stop: () => void })._stop();
}
