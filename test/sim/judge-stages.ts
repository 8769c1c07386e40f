/**
 * Judges gates that ask groups of people.
 *
 * 1.  A vote counts in the stage that its gate is in: the stages before it are filled, each by the votes that it takes
 *     and of the roles that it names, and by other people.
 * 2.  A gate is approved once the last of its stages is filled, and a quorum of parts once each part has its approvals.
 */
import { type LedgerEvent, payloadOf } from "../../src/contract/event.ts";
import type { GateVoted } from "../../src/contract/events/gate-events.ts";
import type { Gate } from "../../src/contract/gate.ts";
import type { GateQuorum, GateStage } from "../../src/contract/gate-quorum.ts";
import type { OutsideWorld } from "./outside-world.ts";

/** A gate that asks groups, and the votes on what it shows now. */
interface Asked {
  readonly stages: readonly GateStage[];
  readonly hasStages: boolean;
  /** Whether a role beside those of the stages may decide, since nobody did in time. */
  isEscalated: boolean;
  votes: GateVoted[];
}

export function judgeStages({ durable }: OutsideWorld): readonly string[] {
  const gates = new Map<string, Asked>();
  return durable.flatMap(({ event }) => {
    const why = judgeEvent(event, gates);
    return why === null ? [] : [`stage: ${why} (${event.event_type} of ${event.step_id} in ${event.workflow_id})`];
  });
}

const nameOf = ({ workflow_id, payload }: LedgerEvent): string => `${workflow_id} ${payload["gate_id"]}`;

function judgeEvent(event: LedgerEvent, gates: Map<string, Asked>): string | null {
  const asked = gates.get(nameOf(event));
  switch (event.event_type) {
    case "GATE_OPENED":
    case "GATE_REVISED":
      open(event, payloadOf(event, "GATE_OPENED").gate, gates);
      return null;
    case "GATE_VOTED":
      return asked === undefined ? null : vote(payloadOf(event, "GATE_VOTED"), asked);
    case "GATE_VOTE_WITHDRAWN": {
      const { id, type } = payloadOf(event, "GATE_VOTE_WITHDRAWN").principal;
      if (asked !== undefined)
        asked.votes = asked.votes.filter(({ principal: by }) => by.id !== id || by.type !== type);
      return null;
    }
    case "GATE_ESCALATED":
      if (asked !== undefined) asked.isEscalated = true;
      return null;
    case "USER_APPROVED": {
      const open = asked === undefined ? -1 : asked.stages.findIndex((_, i) => !isFilled(asked, i + 1));
      return open < 0 ? null : `it is approved, and stage ${open + 1} is not filled`;
    }
    default:
      return null;
  }
}

function open({ workflow_id }: LedgerEvent, gate: Gate, gates: Map<string, Asked>): void {
  const { stages, quorum, roles, gate_id } = gate;
  const own = stages ?? (quorum?.of === undefined ? null : [{ roles, quorum }]);
  if (own === null) return void gates.delete(`${workflow_id} ${gate_id}`);
  gates.set(`${workflow_id} ${gate_id}`, {
    stages: own,
    hasStages: stages !== undefined,
    isEscalated: false,
    votes: [],
  });
}

function vote(given: GateVoted, asked: Asked): string | null {
  if (given.advisory) return null;
  const stage = given.stage ?? 1;
  const before = asked.votes.filter((one) => one.decision === "approve");
  if (asked.hasStages && given.stage === undefined) return "the vote is of no stage";
  const unfilled = asked.stages.slice(0, stage - 1).findIndex((_, i) => !isFilled(asked, i + 1));
  if (unfilled >= 0) return `a vote of stage ${stage} counts, and stage ${unfilled + 1} is not filled`;
  if (asked.hasStages && isFilled(asked, stage)) return `a vote counts in stage ${stage}, which is filled`;
  const roles = rolesOf(asked.stages[stage - 1]);
  const isAsked = roles === null || asked.isEscalated || given.on_behalf_of !== null;
  if (!isAsked && !roles.includes(given.principal.role ?? ""))
    return `a vote of ${given.principal.role} counts in stage ${stage}, which asks ${roles}`;
  const again = before.find(({ principal: by }) => by.id === given.principal.id && by.type === given.principal.type);
  if (again !== undefined) return `${given.principal.id} votes twice, in stages ${again.stage} and ${stage}`;
  asked.votes.push(given);
  return null;
}

const rolesOf = (stage: GateStage | undefined): readonly string[] | null =>
  stage?.quorum.of?.map(({ role }) => role) ?? stage?.roles ?? null;

/** Returns whether the votes fill a stage; one of a role that an escalation asked counts for any part. */
function isFilled({ stages, votes, hasStages }: Asked, stage: number): boolean {
  const { quorum } = stages[stage - 1] as GateStage;
  const given = votes.filter((one) => one.decision === "approve" && (!hasStages || one.stage === stage));
  return quorum.of === undefined ? given.length >= quorum.approvals : hasAllParts(quorum.of, given);
}

function hasAllParts(parts: NonNullable<GateQuorum["of"]>, given: readonly GateVoted[]): boolean {
  const lacks = parts.map(({ role, approvals }) =>
    Math.max(0, approvals - given.filter(({ part }) => part === role).length),
  );
  const others = given.filter(({ part }) => !parts.some(({ role }) => role === part)).length;
  return lacks.reduce((sum, n) => sum + n, 0) <= others;
}
