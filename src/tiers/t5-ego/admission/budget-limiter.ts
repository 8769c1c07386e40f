/**
 * The budget limiter: what tenants, principals, workflows and operators may use in all, over workflows and restarts.
 *
 * Owns: which counters a call touches, whether it still fits, and what is set aside for calls whose start is not in the
 * ledger yet. Never: counts what is in the ledger; the store does, in the transaction that writes the event.
 * B1  Nothing is charged by asking: a refusal leaves every counter as it was.
 * B2  Between the reading of the counters and the answer what was set aside meanwhile is counted too, and so is what was
 *     let go meanwhile, so that calls that ask at once never pass a ceiling together. What another process commits
 *     meanwhile the store sees, which holds the reservation to its ceilings again where it is written.
 * B3  What was set aside and never begun is forgotten after a lease's time.
 */
import {
  type BoundReservation,
  type BudgetScope,
  type Ceiling,
  type Charge,
  fieldBeyond,
  lowerCeiling,
  noCharge,
  type ParsedBudgetLimit,
  type Reservation,
} from "../../../contract/budget.ts";
import type { KernelError } from "../../../contract/error.ts";
import { kernelError } from "../../../contract/error-codes.ts";
import { instantText } from "../../../contract/instant.ts";
import { moduleRef } from "../../../contract/module-ref.ts";

type Id = string | number;

/** Whose call it is. */
export interface Charged {
  readonly tenant_id: Id;
  readonly principal: Id;
  readonly workflow: string;
  readonly operator: string;
  /** Epoch ms. */
  readonly at: number;
}

export interface BudgetLimiter {
  /** Whether any ceiling is configured at all. */
  readonly isEmpty: boolean;
  /** Sets the amounts aside under `hold`, or says what they would exceed; null when no ceiling concerns the call. */
  readonly reserve: (hold: string, who: Charged, amounts: Charge) => Promise<BoundReservation | KernelError | null>;
  /** The start is in the ledger, or will not be: the counters alone say what is used. */
  readonly release: (hold: string) => void;
}

export interface BudgetLimiterParts {
  readonly limits: readonly ParsedBudgetLimit[];
  readonly charges: (tenantId: Id, counters: readonly string[]) => Promise<readonly Charge[]>;
  readonly now: () => number;
  readonly holdMs: number;
}

interface Hold {
  readonly tenant_id: Id;
  readonly reservation: Reservation;
  readonly until: number;
}

const limiterRef = moduleRef(5, "budget", "reserve");

export function createBudgetLimiter({ limits, charges, now, holdMs }: BudgetLimiterParts): BudgetLimiter {
  const holds = new Map<string, Hold>();
  /** For each reading of counters that is under way, what was let go since it began. */
  const readings = new Set<Hold[]>();
  const read = async (tenantId: Id, counters: readonly string[]) => {
    const gone: Hold[] = [];
    readings.add(gone);
    try {
      const amounts = await charges(tenantId, counters);
      return { standing: new Map(counters.map((counter, i) => [counter, amounts[i] ?? noCharge])), gone };
    } finally {
      readings.delete(gone);
    }
  };
  const heldFor = (tenantId: Id): readonly Hold[] => {
    const at = now();
    const held: Hold[] = [];
    for (const [name, hold] of holds) {
      if (hold.until <= at) holds.delete(name);
      else if (hold.tenant_id === tenantId) held.push(hold);
    }
    return held;
  };
  return {
    isEmpty: limits.length === 0,
    async reserve(name, who, amounts) {
      const concerned = limits.flatMap((limit) => counterOf(limit, who));
      if (concerned.length === 0) return null;
      const counters = [...new Set(concerned.map(({ counter }) => counter))];
      holds.delete(name);
      for (;;) {
        const { standing, gone } = await read(who.tenant_id, counters);
        const held = heldFor(who.tenant_id);
        const refusal = refuseAny(concerned, { standing, held, amounts });
        if (refusal !== null) return refusal;
        // Whether the counters were read with or without what was let go meanwhile, nobody knows: they are read again.
        const own = gone.filter(({ tenant_id }) => tenant_id === who.tenant_id);
        if (own.length > 0 && refuseAny(concerned, { standing, held: [...held, ...own], amounts }) !== null) continue;
        const reservation = { counters, amounts, ceilings: counters.map((counter) => ceilingOf(concerned, counter)) };
        holds.set(name, { tenant_id: who.tenant_id, reservation, until: now() + holdMs });
        return reservation;
      }
    },
    release(name) {
      const hold = holds.get(name);
      if (hold !== undefined) for (const gone of readings) gone.push(hold);
      holds.delete(name);
    },
  };
}

interface Standing {
  /** What the ledger's counters say. */
  readonly standing: ReadonlyMap<string, Charge>;
  readonly held: readonly Hold[];
  readonly amounts: Charge;
}

/** The first ceiling that the amounts would exceed, or null. */
function refuseAny(concerned: readonly Concerned[], { standing, held, amounts }: Standing): KernelError | null {
  for (const { counter, limit } of concerned) {
    const charged = withHeld(standing.get(counter) ?? noCharge, counter, held);
    const refusal = exceeds({ counter, limit, charged, amounts });
    if (refusal !== null) return refusal;
  }
  return null;
}

/** What a counter says with what is set aside of it: summed without a record for each of those that are under way. */
function withHeld(standing: Charge, counter: string, held: readonly Hold[]): Charge {
  let { tokens, money, invocations, wall_ms } = standing;
  for (const { reservation } of held) {
    if (!reservation.counters.includes(counter)) continue;
    const { amounts } = reservation;
    tokens += amounts.tokens;
    money += amounts.money;
    invocations += amounts.invocations;
    wall_ms += amounts.wall_ms;
  }
  return { tokens, money, invocations, wall_ms };
}

/** Several limits may be about one counter. */
const ceilingOf = (concerned: readonly Concerned[], counter: string): Ceiling =>
  concerned
    .filter((one) => one.counter === counter)
    .map(
      ({ limit: { tokens, money, invocations, wall_ms } }): Ceiling =>
        ({ tokens, money, invocations, wall_ms }) as Ceiling,
    )
    .reduce(lowerCeiling);

interface Concerned {
  readonly counter: string;
  readonly limit: ParsedBudgetLimit;
}

/** The counter that a limit keeps for this call; none where it is about somebody or something else. */
function counterOf(limit: ParsedBudgetLimit, who: Charged): readonly Concerned[] {
  const id = idIn(limit.scope, who);
  if (limit.id !== undefined && limit.id !== id) return [];
  if (limit.tenant_id !== undefined && limit.tenant_id !== who.tenant_id) return [];
  return [{ counter: nameCounter(limit.scope, id, windowOf(limit.window, who.at)), limit }];
}

/** A tenant's own counter is named for no id: counters are the tenant's. */
export const nameCounter = (scope: BudgetScope, id: Id, window: string): string =>
  `${scope === "tenant" ? scope : `${scope}:${JSON.stringify(id)}`}${window}`;

const idIn = (scope: BudgetScope, who: Charged): Id => (scope === "tenant" ? who.tenant_id : who[scope]);

const windowLength = { total: 0, month: 7, day: 10, hour: 13 } as const;

/** The UTC window that the instant falls into, as the beginning of its ISO text. */
export function windowOf(window: ParsedBudgetLimit["window"], at: number): string {
  const length = windowLength[window];
  return length === 0 ? "" : `@${instantText(at).slice(0, length)}`;
}

interface Weighed extends Concerned {
  readonly charged: Charge;
  readonly amounts: Charge;
}

function exceeds({ counter, limit, charged, amounts }: Weighed): KernelError | null {
  const field = fieldBeyond(limit as Ceiling, { charged, amounts });
  if (field === null) return null;
  const ceiling = limit[field] as number;
  const detail = { counter, resource: field, limit: ceiling, charged: charged[field], attempted: amounts[field] };
  const message = `the ${limit.scope} budget ${counter} has ${ceiling - charged[field]} ${field} left of ${ceiling}; the call asks for ${amounts[field]}`;
  return kernelError("T5_BUDGET_EXHAUSTED", message, limiterRef, { detail: { kind: "scoped_budget", ...detail } });
}
