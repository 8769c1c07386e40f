/**
 * The place of a workflow in its queue: taken before its work begins, or waited for.
 *
 * 1.  A place is on disk before anything else is decided: a row that finds none free is refused, and nothing was asked
 *     or called for it.
 * 2.  What waits is woken when its turn has come, and asks again.
 * 3.  One that replaces others cancels those that came before it, before it waits for their end.
 * 4.  One that waits for newer requests cancels those that waited before it at once, and asks for a place later.
 * 5.  One that was accepted while no place among `limits.maxInFlight` was free waits for one of those as well, last.
 * 6.  A workflow that undoes what it did needs no place: it began in one.
 */
import { raise } from "../../../../contract/error.ts";
import { kernelError } from "../../../../contract/error-codes.ts";
import { draft } from "../../../../contract/event.ts";
import { toHost } from "../run/intention.ts";
import { ask, oodaRef, type Run } from "../run/run.ts";

/** Takes a place if one is free; returns whether the workflow has one, or needs none. */
export function takePlace(run: Run): boolean {
  const { intent, in_flight, place, compensating } = run.log.record;
  if ((intent.queue === undefined && in_flight === null) || compensating !== null) return true;
  if (place === "taken" && !run.scopes.hasBegun("queue")) return true;
  if (run.scopes.waits("queue")) return false;
  const through = run.scopes.pass("queue", () => {
    if (run.log.record.place !== "taken") askForPlace(run);
    if (run.log.record.place === "taken") ask(run, "saved", toHost("saved", {}));
  });
  return through && run.log.record.place === "taken";
}

function askForPlace(run: Run): void {
  const { place, intent } = run.log.record;
  const isQueued = intent.queue !== undefined;
  const { isFree, ahead } = isQueued ? ask(run, "place", toHost("queue_place", {})) : free;
  if (isFree) {
    waitInFlight(run);
    const { queued_at } = run.log.record;
    const waited_ms = queued_at === null ? 0 : run.now - Date.parse(queued_at);
    return run.log.note(draft("WORKFLOW_ADMITTED", { waited_ms }));
  }
  if (place !== null) return;
  const replaces = intent.queue?.singleton === "replace" ? ask(run, "replace", toHost("replace_others", {})) : [];
  run.log.note(draft("WORKFLOW_QUEUED", { ahead, ...(replaces.length > 0 && { replaces }) }));
}

const free = Object.freeze({ isFree: true, ahead: 0 });

/** Waits for a place among `limits.maxInFlight`, if the workflow was accepted without one. */
function waitInFlight(run: Run): void {
  const { in_flight, place } = run.log.record;
  if (in_flight === null) return;
  if (place === null) run.log.note(draft("WORKFLOW_QUEUED", { ahead: in_flight.ahead }));
  ask(run, "in_flight", toHost("in_flight_place", {}));
}

/**
 * Cancels the workflows of its queue and key that wait and came before it, if newer requests supersede older ones
 * there; returns whether they have taken the order.
 */
export function supersedeOthers(run: Run): boolean {
  const { debounced, has_superseded, state, paused, held } = run.log.record;
  if (debounced === null || has_superseded || state !== "accepted" || paused !== null || held !== null) return true;
  if (run.scopes.waits("supersede")) return false;
  return run.scopes.pass("supersede", () => {
    const replaces = ask(run, "replace", toHost("replace_others", {}));
    run.log.note(draft("WORKFLOW_DEBOUNCED", { until: debounced.until, replaces }));
  });
}

/** @throws KernelErrorException T4_WORKFLOW_CONFLICT for a workflow that has a place in its queue. */
export function requireWaiting({ log: { record } }: Run): void {
  if (record.place !== "taken") return;
  const message = "it has begun: a newer request supersedes only what waits";
  raise(kernelError("T4_WORKFLOW_CONFLICT", message, oodaRef("cancel")));
}
