/**
 * Tells who is away at a gate: people who would have a seat there by T5's own rule, with who stands in for them.
 *
 * Never: decides. A decision is judged when it is made.
 * 1.  At most 1,000 orders of a tenant that hold now are looked at, and a gate shows the 50 oldest that concern it.
 */
import type { Same } from "../../machines/quorum.ts";
import { KernelErrorException } from "../contract/error.ts";
import { type Gate, isOpenGate } from "../contract/gate.ts";
import type { GateNotice } from "../contract/gate-notice.ts";
import { refOf } from "../contract/gate-vote.ts";
import { instantText } from "../contract/instant.ts";
import type { AwayAtGate, StandIn } from "../contract/stand-in.ts";
import type { Runtime } from "../engine/actors/runtime.ts";
import type { TenantRegistry } from "../engine/log/tenant-registry.ts";
import type { LedgerStore } from "../ports/ledger-store.ts";
import { whyNotHandedOver } from "../tiers/t5-ego/seat-voter.ts";

export interface AwayParts {
  readonly store: Pick<LedgerStore, "standIns">;
  readonly standIns: TenantRegistry;
  readonly runtime: Pick<Runtime, "clock">;
  readonly same: Same;
}

/** Describes who is away at a gate. */
export type FindAway = (gate: Gate) => readonly AwayAtGate[];

const mostRead = 1_000;
const mostShown = 50;
const nobody: readonly AwayAtGate[] = Object.freeze([]);

/** Returns a function that finds who is away now at gates of a tenant. */
export async function awayFinder(parts: AwayParts, tenantId: string | number): Promise<FindAway> {
  const { store, standIns, runtime, same } = parts;
  if (!(await standIns.mayHave(tenantId))) return () => nobody;
  const now = runtime.clock.now();
  const orders = await store.standIns(tenantId, { now, begunBy: now, limit: mostRead });
  const at = { now: instantText(now) };
  const concerns = (gate: Gate, order: StandIn): boolean => {
    try {
      return whyNotHandedOver(gate, order, at, same) === null;
    } catch (thrown) {
      // It cannot be decided whether two names are one person: a decision is then refused.
      if (thrown instanceof KernelErrorException) return false;
      throw thrown;
    }
  };
  return (gate) => {
    if (!isOpenGate(gate)) return nobody;
    const found: AwayAtGate[] = [];
    for (const order of orders) {
      if (found.length === mostShown) break;
      const { stand_in_id, by, to, until, reason } = order;
      if (concerns(gate, order)) found.push({ stand_in_id, who: refOf(by), to, until, reason });
    }
    return found;
  };
}

/** Returns a function that adds to the gates of a notice who is away. */
export const awayReader =
  (parts: AwayParts) =>
  async (notice: GateNotice): Promise<GateNotice> => {
    const find = await awayFinder(parts, notice.tenant_id);
    return { ...notice, gate: withAway(notice.gate, find), gate_now: withAway(notice.gate_now, find) };
  };

/** Adds who is away to a gate, if anybody is. */
export function withAway<G extends Gate>(gate: G, find: FindAway): G {
  const away = find(gate);
  return away.length === 0 ? gate : { ...gate, away };
}
