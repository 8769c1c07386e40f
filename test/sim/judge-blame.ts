/**
 * A hook that refuses a step refuses that one alone: another that shares its key does not fail with it, and a call
 * under the key that may have taken effect, whichever step made it, is not ended by it.
 */
import type { LedgerEvent } from "../../src/contract/event.ts";
import type { Durable } from "./outside-world.ts";
import { mayRepeat, type Story } from "./story.ts";
import { refusedIn } from "./story-host.ts";
import { nameOf, ownerOf } from "./story-plan.ts";

/**
 * Whether a call may have taken effect and nobody has said what became of it; and whether so it was before its last
 * start.
 */
interface Doubt {
  readonly isOut: boolean;
  readonly wasOut: boolean;
}

const unseen: Doubt = { isOut: false, wasOut: false };

export function judgeBlame({ operators, deploy }: Story, durable: readonly Durable[]): readonly string[] {
  const isOnceIn = (i: number): boolean =>
    !mayRepeat(operators[i]) && !mayRepeat({ ...operators[i], ...deploy?.release.operators[i] });
  const once = new Set([...operators.keys()].filter(isOnceIn).map(nameOf));
  const doubts = new Map<unknown, Doubt>();
  /** The last call that each step made itself. */
  const own = new Map<string, unknown>();
  return durable.flatMap(({ event }) => {
    const { action_id } = event.payload;
    const doubt = doubts.get(action_id) ?? unseen;
    const isOnce = event.event_type === "ACTION_STARTED" ? once.has(String(event.payload["operator_name"])) : true;
    if (action_id !== undefined) doubts.set(action_id, goOn(event, doubt, isOnce));
    if (event.event_type === "ACTION_STARTED" && event.payload["token"] !== undefined)
      own.set(stepOf(event), event.payload["action_id"]);
    return [
      ...blameOf(event),
      ...(isEnded(event, doubt) ? [`blamed: ${told(event)} ends a call in doubt`] : []),
      ...(isUnasked(event, doubts.get(own.get(stepOf(event))))
        ? [`unasked: ${told(event)} may have taken effect`]
        : []),
    ];
  });
}

const stepOf = ({ workflow_id, step_id }: LedgerEvent): string => `${workflow_id} ${step_id}`;

/** A step whose own call may have taken effect fails only once somebody has said what became of it. */
const isUnasked = ({ event_type }: LedgerEvent, { isOut }: Doubt = unseen): boolean =>
  event_type === "STEP_FAILED" && isOut;

const told = ({ event_type, step_id, workflow_id, sequence }: LedgerEvent): string =>
  `${event_type} ${step_id} of ${workflow_id} at ${sequence}`;

/** Of which step a hook refused this failure; null where none did. */
const refuserOf = ({ payload }: LedgerEvent): string | null => refusedIn(JSON.stringify(payload["error"] ?? null));

function blameOf(event: LedgerEvent): readonly string[] {
  if (event.event_type !== "STEP_FAILED" && event.event_type !== "ACTION_FAILED") return [];
  const refused = refuserOf(event);
  // A step that ran a child fails with what the child failed with, and a list with what its items failed with.
  const code = (event.payload["error"] as { readonly code?: unknown } | undefined)?.code;
  if (code === "T4_CHILD_FAILED" || code === "T4_ITEMS_FAILED") return [];
  return refused === null || ownerOf(refused) === event.step_id || refused === event.step_id
    ? []
    : [`blamed: ${told(event)} is what ${refused} was refused`];
}

const isEnded = (event: LedgerEvent, { wasOut }: Doubt): boolean =>
  event.event_type === "ACTION_FAILED" && event.payload["pending"] === false && wasOut && refuserOf(event) !== null;

function goOn({ event_type, payload }: LedgerEvent, doubt: Doubt, isOnce: boolean): Doubt {
  switch (event_type) {
    case "ACTION_STARTED":
      return { isOut: isOnce, wasOut: doubt.isOut };
    case "ACTION_FAILED":
      return payload["pending"] === true ? doubt : unseen;
    case "ACTION_SUCCEEDED":
    case "ACTION_SETTLED":
      return unseen;
    default:
      return doubt;
  }
}
