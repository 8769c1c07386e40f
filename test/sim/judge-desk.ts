/**
 * Judges what the family `desk` adds.
 *
 * 1.  Each of several decisions has an answer of its own, in their order, and the one that it would have had alone.
 *     What is taken is in the ledger, and what is refused has a code.
 * 2.  A vote for somebody names whom it is for, and rests on an order of that person to this voter that holds then and
 *     was not ended, or on a seat that was lent at the gate.
 * 3.  A process begins nothing of, and calls nothing for, the work that it leaves to others.
 * 4.  No process has more workflows in flight than its places, children apart.
 */
import { type LedgerEvent, payloadOf } from "../../src/contract/event.ts";
import type { GateDecisionsResponse } from "../../src/contract/gate-decisions.ts";
import type { PrincipalRef } from "../../src/contract/gate-vote.ts";
import { holdsAt, type StandIn } from "../../src/contract/stand-in.ts";
import { isTerminal } from "../../src/contract/workflow.ts";
import { judgeTold } from "./judge-told.ts";
import type { OutsideWorld } from "./outside-world.ts";
import type { Stage } from "./play-story.ts";
import type { SimulatedProcess } from "./simulated-process.ts";

interface Decided {
  readonly asked: readonly { readonly workflow_id: string; readonly gate_id: string }[];
  readonly by: PrincipalRef;
  readonly answer: GateDecisionsResponse;
}

export function judgeDecisions(stage: Stage, { asked, by, answer }: Decided): readonly string[] {
  const { results, taken, refused } = answer;
  const were = results.filter(({ ok }) => ok).length;
  const isInOrder = results.every(({ workflow_id }, i) => workflow_id === asked[i]?.workflow_id);
  if (results.length !== asked.length || !isInOrder) return ["many: the results are not those of the decisions"];
  if (taken !== were || refused !== results.length - were) return [`many: ${taken} and ${refused} are not ${were}`];
  return results.flatMap((result, i) => {
    const { workflow_id, gate_id } = asked[i] as Decided["asked"][number];
    stage.world.mark(`decide many ${result.ok ? result.answer.status : result.error.code}`);
    if (!result.ok) return unheard.has(result.error.code) ? [`many: ${gate_id}: ${result.error.message}`] : [];
    stage.world.acknowledge("decide", workflow_id, (event) => event.payload["gate_id"] === gate_id);
    return judgeTold(stage, { gate_id, by, answer: result.answer }) ?? [];
  });
}

/** Codes with which no decision is refused. */
const unheard: ReadonlySet<string> = new Set(["T4_OPERATOR_UNKNOWN", "T1_NORMALIZE_UNKNOWN_INTENT", "T0_TIER_CRASHED"]);

const isSame = (one: PrincipalRef, other: PrincipalRef): boolean =>
  one.type === other.type && String(one.id) === String(other.id);

interface Vote {
  readonly gate_id: string;
  readonly principal: PrincipalRef | null;
  readonly on_behalf_of?: PrincipalRef | null;
  readonly stand_in?: string;
}

const votes: ReadonlySet<string> = new Set(["GATE_VOTED", "USER_APPROVED", "USER_REJECTED"]);

export function judgeStandIns(world: OutsideWorld): readonly string[] {
  const orders = new Map<string, StandIn>();
  const lent: { readonly gate: string; readonly by: PrincipalRef; readonly to: PrincipalRef }[] = [];
  return world.durable.flatMap(({ event }) => {
    if (event.event_type === "STAND_IN_NAMED") {
      const { stand_in } = payloadOf(event, "STAND_IN_NAMED");
      orders.set(stand_in.stand_in_id, stand_in);
    }
    if (event.event_type === "STAND_IN_ENDED") orders.delete(payloadOf(event, "STAND_IN_ENDED").stand_in_id);
    if (event.event_type === "GATE_DELEGATED") {
      const { gate_id, from, to } = payloadOf(event, "GATE_DELEGATED");
      lent.push({ gate: `${event.workflow_id} ${gate_id}`, by: from, to });
    }
    if (!votes.has(event.event_type)) return [];
    const vote = event.payload as unknown as Vote;
    const isLent = lent.some(
      ({ gate, by, to }) =>
        gate === `${event.workflow_id} ${vote.gate_id}` &&
        vote.principal !== null &&
        isSame(to, vote.principal) &&
        vote.on_behalf_of != null &&
        isSame(by, vote.on_behalf_of),
    );
    if (vote.stand_in !== undefined) world.mark("decided as a stand-in");
    const why = vote.stand_in === undefined ? whyNotLent(vote, isLent) : whyNot(event, vote, orders.get(vote.stand_in));
    return why === null ? [] : [`stand-in: ${event.event_type} at ${vote.gate_id} of ${event.workflow_id} ${why}`];
  });
}

const whyNotLent = ({ on_behalf_of }: Vote, isLent: boolean): string | null =>
  on_behalf_of == null || isLent ? null : `is for ${on_behalf_of.id}, who lent no seat there`;

function whyNot({ timestamp }: LedgerEvent, vote: Vote, order: StandIn | undefined): string | null {
  const { principal, on_behalf_of } = vote;
  if (order === undefined) return "rests on an order that does not stand";
  if (principal === null || !isSame(principal, order.to)) return `is by ${principal?.id}, who stands in for nobody`;
  if (on_behalf_of == null || !isSame(on_behalf_of, order.by)) return `is for ${on_behalf_of?.id}, not ${order.by.id}`;
  return holdsAt(order, Date.parse(timestamp)) ? null : `is at ${timestamp}, from ${order.from} until ${order.until}`;
}

const driving: ReadonlySet<string> = new Set(["PLAN_CREATED", "WORKFLOW_STARTED", "STEP_STARTED", "ACTION_STARTED"]);

export function judgeLeft(world: OutsideWorld): readonly string[] {
  const isLeft = (process: string | undefined, workflowId: string | null): boolean => {
    const type = world.records.get(workflowId ?? "")?.intent.type;
    return type !== undefined && world.leaves.get(process ?? "")?.includes(type) === true;
  };
  const called = world.calls.filter(({ process, workflow_id }) => isLeft(process, workflow_id));
  const written = world.durable.filter(
    ({ at, event }) => driving.has(event.event_type) && isLeft(world.writers[at - 1], event.workflow_id),
  );
  return [
    ...called.map(({ process, step_id, workflow_id }) => `left: ${process} calls ${step_id} of ${workflow_id}`),
    ...written.map(
      ({ at, event: { event_type, workflow_id } }) =>
        `left: ${world.writers[at - 1]} writes ${event_type} of ${workflow_id}`,
    ),
  ];
}

export function judgePlaces({ story, world }: Stage, { name, kernel }: SimulatedProcess): readonly string[] {
  const { maxInFlight } = story.limits;
  if (maxInFlight === undefined) return [];
  const { places, submits } = kernel.vitals();
  if (submits > 0) world.mark("waits for a place");
  const open = [...world.records.values()].filter((one) => one != null && !isTerminal(one.state));
  const most = maxInFlight + open.filter((one) => one?.parent != null).length;
  return places <= most ? [] : [`places: ${name} has ${places} workflows in flight, of ${maxInFlight}`];
}
