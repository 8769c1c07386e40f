/** Nobody is told of a decision that the ledger does not hold yet: their own, or the one that it repeats. */
import type { EventType } from "../../src/contract/event.ts";
import type { GateResponse } from "../../src/contract/gate.ts";
import type { PrincipalRef } from "../../src/contract/gate-vote.ts";
import type { Stage } from "./play-story.ts";
import { mayBeOne } from "./story-persons.ts";

interface Told {
  readonly gate_id: string;
  readonly by: PrincipalRef;
  readonly answer: GateResponse;
}

const heldBy: Partial<Record<GateResponse["status"], EventType>> = {
  resumed: "USER_APPROVED",
  rejected: "USER_REJECTED",
  voted: "GATE_VOTED",
  kept: "GATE_DECISION_KEPT",
  revised: "GATE_REVISED",
};

/** @returns the law that is broken; null where it holds. */
export function judgeTold({ world, story }: Stage, { gate_id, by, answer }: Told): string | null {
  const { status, workflow_id } = answer;
  const type = heldBy[status];
  const isOne = mayBeOne(story);
  const isOwn = status === "voted" || status === "kept";
  const holds = world.durable.some(({ event }) => {
    if (event.workflow_id !== workflow_id || event.event_type !== type) return false;
    const { gate_id: own, gate, principal } = event.payload as Readonly<Record<string, never>>;
    const of: unknown = own ?? (gate as { readonly gate_id?: string } | undefined)?.gate_id;
    return of === gate_id && (!isOwn || isOne(principal as unknown as PrincipalRef, by));
  });
  if (type === undefined || holds) return null;
  return `told: ${by.id} was told "${status}" at ${gate_id} of ${workflow_id}, and the ledger holds no ${type}`;
}
