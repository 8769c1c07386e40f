/**
 * Duties are kept apart: who asked for what a gate shows, in any round, or edited it, does not count there where the
 * gate separates the two, under any name; and nobody has two votes at one gate.
 */
import { type LedgerEvent, payloadOf } from "../../src/contract/event.ts";
import type { Gate } from "../../src/contract/gate.ts";
import type { GateVote, PrincipalRef } from "../../src/contract/gate-vote.ts";
import type { Story } from "./story.ts";
import { mayBeOne } from "./story-persons.ts";

type People = readonly PrincipalRef[];

/** Tells of one event after another, with the gate as it stood before, what is wrong with it. */
export function personsJudge(story: Pick<Story, "persons">) {
  const isOne = mayBeOne(story);
  const askers = new Map<string | null, People>();
  const askersAt = new Map<string, People>();
  const judgeAt = (event: LedgerEvent, gate: Gate): readonly string[] => {
    const asked = gate.separation ? (askersAt.get(placeOf(event)) ?? []) : [];
    const voted = event.event_type === "GATE_VOTED" ? gate.votes.flatMap(seatsOf) : [];
    return seatedBy(event, gate).flatMap((who) => {
      const told = `${event.event_type} of ${gate.gate_id} in ${event.workflow_id} by ${who.type} ${who.id}`;
      return [
        ...(asked.some((one) => isOne(one, who)) ? [`duties: ${told}, who asked for it`] : []),
        ...(voted.some((one) => isOne(one, who)) ? [`votes: ${told}, who has voted`] : []),
      ];
    });
  };
  return (event: LedgerEvent, gate: Gate | undefined): readonly string[] => {
    const { event_type: type, workflow_id } = event;
    const failures = gate === undefined ? [] : judgeAt(event, gate);
    const until = askers.get(askedIn(event)) ?? [];
    askers.set(workflow_id, [...until, ...asksBy(event)]);
    if (type === "GATE_OPENED" || type === "GATE_REVISED") askersAt.set(placeOf(event), askers.get(workflow_id) ?? []);
    return failures;
  };
}

const placeOf = ({ workflow_id, step_id }: LedgerEvent): string => `${workflow_id} ${step_id}`;

/** The workflow whose askers this one's are: that which it does again, where it begins. */
const askedIn = ({ event_type: type, workflow_id, payload }: LedgerEvent): string | null =>
  type === "INTENT_RECEIVED" ? (beforeOf(payload) ?? null) : workflow_id;

/** The workflow that one does again, or takes over from. */
const beforeOf = (payload: LedgerEvent["payload"]): string | null | undefined =>
  (payload["fork"] as { readonly workflow_id: string } | undefined)?.workflow_id ??
  (payload["regenerated_from"] as string | null);

const seatsOf = ({
  advisory,
  principal,
  on_behalf_of: owner,
}: Pick<GateVote, "advisory" | "principal" | "on_behalf_of">): People =>
  advisory ? [] : owner === null ? [principal] : [principal, owner];

const principalOf = ({ payload: { principal } }: LedgerEvent): People =>
  principal == null ? [] : [principal as PrincipalRef];

const isEdit = ({ event_type: type, payload }: LedgerEvent): boolean =>
  type === "GATE_REVISED" && payload["cause"] === "edit";

const asking: ReadonlySet<string> = new Set(["WORKFLOW_RESTARTED", "WORKFLOW_RESUMED", "INPUT_ADDED"]);

function asksBy(event: LedgerEvent): People {
  const { event_type: type } = event;
  if (type === "INTENT_RECEIVED") return [payloadOf(event, type).intent.actor];
  return asking.has(type) || isEdit(event) ? principalOf(event) : [];
}

/** Who takes a seat by this event, or changes what is decided on; nobody where none does. */
function seatedBy(event: LedgerEvent, { quorum }: Gate): People {
  const { event_type: type } = event;
  if (type === "GATE_VOTED") return seatsOf(payloadOf(event, type));
  if (type === "GATE_DELEGATED") return [payloadOf(event, type).to];
  const isOne = (type === "USER_APPROVED" || type === "USER_REJECTED") && quorum === null;
  return isOne || isEdit(event) ? principalOf(event) : [];
}
