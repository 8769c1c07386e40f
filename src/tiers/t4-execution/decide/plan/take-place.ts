/**
 * The place of a workflow in its queue: taken before its work begins, or waited for.
 *
 * 1.  A place is on disk before anything else is decided: a row that finds none free is refused, and nothing was asked
 *     or called for it.
 * 2.  What waits is woken when its turn has come, and asks again.
 * 3.  One that replaces others cancels those that came before it, before it waits for their end.
 * 4.  One that was accepted while no place among `limits.maxInFlight` was free waits for one of those as well, last.
 * 5.  A workflow that undoes what it did needs no place: it began in one.
 */
import { draft } from "../../../../contract/event.ts";
import { toHost } from "../run/intention.ts";
import { ask, type Run } from "../run/run.ts";

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
