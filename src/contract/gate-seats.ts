/**
 * The facts of a gate that determine who may decide there, who has voted, who looks after it and who has snoozed it:
 * what an index keeps of it, so that a list for one person reads each combination of them once, whatever the number of
 * gates.
 *
 * 1.  Gates with equal facts have equal texts. What does not matter to a seat is no part of them.
 */

import { kernelError } from "./error-codes.ts";
import { plainGate } from "./events/gate-events.ts";
import type { Gate } from "./gate.ts";
import { raise } from "./kernel-error.ts";
import { moduleRef } from "./module-ref.ts";

const seatsRef = moduleRef(0, "ledger", "read");

/** Returns the facts as JSON, without members that have their default. */
export function seatText(gate: Gate): string {
  const { kind, operator, effect, roles, approvers, quorum } = gate;
  const isOfRequesters = gate.separation || kind === "in_doubt";
  const votes = (gate.votes ?? []).map(({ principal, on_behalf_of, decision, advisory, part, stage }) => ({
    ...{ principal: { type: principal.type, id: principal.id }, on_behalf_of, decision, advisory },
    ...(part !== undefined && { part }),
    ...(stage !== undefined && { stage }),
  }));
  return JSON.stringify({
    ...{ kind, operator, effect },
    ...noted(gate),
    ...(roles !== null && { roles }),
    ...(approvers != null && { approvers }),
    ...(gate.added_roles !== undefined && { added_roles: gate.added_roles }),
    ...(gate.principal_types !== undefined && { principal_types: gate.principal_types }),
    ...(gate.advisors?.length > 0 && { advisors: gate.advisors }),
    ...(gate.separation && { separation: true }),
    ...(isOfRequesters && { requester: gate.requester, requesters: gate.requesters }),
    ...(gate.delegation === false && { delegation: false }),
    ...(gate.delegations?.length > 0 && { delegations: gate.delegations }),
    ...(quorum?.of !== undefined && { quorum }),
    ...(gate.stage !== undefined && { stage: gate.stage }),
    ...(votes.length > 0 && { votes }),
  });
}

/** Returns the notes at a gate that lists are filtered by, without those that have their default. */
function noted({ conversation }: Gate): Pick<Gate, "conversation"> {
  const { assigned_to = null, snoozed = [] } = conversation ?? {};
  if (assigned_to === null && snoozed.length === 0) return {};
  return { conversation: { comments: [], watchers: [], assigned_to, snoozed } };
}

/**
 * Returns a gate that has these facts and nothing else of its own.
 * @throws KernelErrorException T0_LEDGER_CORRUPT for a text that `seatText` did not write.
 */
export function gateOfSeats(text: string): Gate {
  try {
    const facts = JSON.parse(text) as Partial<Gate>;
    return { ...plainGate, gate_id: "gate", status: "open", roles: null, ...facts } as Gate;
  } catch {
    const message = "the ledger is damaged: an index cannot be read at seat; verify names the row";
    return raise(kernelError("T0_LEDGER_CORRUPT", message, seatsRef, { detail: { column: "seat" } }));
  }
}
