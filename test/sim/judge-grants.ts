/**
 * Judges approvals that were given ahead.
 *
 * 1.  A grant approves a gate that opens in its time, of its operator, in its workflow if it has no end, with params
 *     that meet its tests, and in the name of the person who gave it.
 * 2.  It was given, and not revoked, and is used no more often, and for no more cost, than it says: over all processes.
 */
import { type LedgerEvent, payloadOf } from "../../src/contract/event.ts";
import type { Gate } from "../../src/contract/gate.ts";
import { type Grant, meets, whyNoGrant } from "../../src/contract/grant.ts";
import type { GrantUse } from "../../src/contract/grant-use.ts";
import type { OutsideWorld } from "./outside-world.ts";

/** A grant as the ledger has it, and its uses so far. */
interface Standing {
  readonly grant: Grant;
  uses: number;
  money: number;
  isRevoked: boolean;
}

export function judgeGrants({ durable }: OutsideWorld): readonly string[] {
  const grants = new Map<string, Standing>();
  const gates = new Map<string, Gate>();
  return durable.flatMap(({ event }) => {
    const { workflow_id: id, event_type } = event;
    if (event_type === "GRANT_GIVEN") {
      const { grant } = payloadOf(event, "GRANT_GIVEN");
      grants.set(grant.grant_id, { grant, uses: 0, money: 0, isRevoked: false });
    }
    if (event_type === "GRANT_REVOKED") {
      const revoked = grants.get(payloadOf(event, "GRANT_REVOKED").grant_id);
      if (revoked !== undefined) revoked.isRevoked = true;
    }
    if (event_type === "GATE_OPENED" || event_type === "GATE_REVISED") {
      const { gate } = payloadOf(event, "GATE_OPENED");
      gates.set(`${id} ${gate.gate_id}`, gate);
    }
    const use = event.payload["grant"] as GrantUse | undefined;
    if (event_type !== "USER_APPROVED" || use === undefined) return [];
    const why = judgeUse(event, {
      use,
      gate: gates.get(`${id} ${event.payload["gate_id"]}`),
      of: grants.get(use.grant_id),
    });
    return why === null ? [] : [`grant: ${use.grant_id} ${why} (${event.step_id} of ${id} at ${event.sequence})`];
  });
}

interface Using {
  readonly use: GrantUse;
  readonly gate: Gate | undefined;
  readonly of: Standing | undefined;
}

function judgeUse(event: LedgerEvent, { use, gate, of }: Using): string | null {
  if (of === undefined || gate === undefined) return "is used, and was not given";
  const { grant } = of;
  of.uses += 1;
  of.money += use.money;
  if (of.isRevoked) return "is used after it was revoked";
  if (grant.until !== undefined && event.timestamp >= grant.until) return `is used after ${grant.until}`;
  if (grant.until === undefined && grant.workflow_id !== event.workflow_id) return "is used in another workflow";
  if (grant.operator !== gate.operator) return `approves a call of ${gate.operator}`;
  if (whyNoGrant(gate) !== null) return `approves a gate that takes none: ${whyNoGrant(gate)}`;
  if (!meets(gate.payload, grant.when ?? [])) return "approves a call whose params it does not cover";
  if (of.uses > (grant.uses ?? Number.POSITIVE_INFINITY)) return `is used ${of.uses} times, of ${grant.uses}`;
  if (of.money > (grant.money ?? Number.POSITIVE_INFINITY)) return `approves ${of.money}, of ${grant.money}`;
  const by = event.payload["principal"] as { readonly id?: unknown; readonly type?: unknown } | null;
  return by?.id === grant.by.id && by.type === grant.by.type ? null : `approves in the name of ${by?.id}`;
}
