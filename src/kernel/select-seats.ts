/**
 * Finds the gates of a list that concern people: that wait for the caller, that the caller has voted at, looks after or
 * has snoozed, or that name a role. The index keeps the facts that matter as one text a gate; equal texts are judged
 * once, by the rule of T5.
 *
 * Never: has a rule of its own for who may decide.
 * 1.  The answer is exact at the instant of the read: a seat that was lent until an earlier one is none.
 * 2.  At most `limits.maxListScanned` different texts are judged. There are about as many as ways to ask people, times
 *     the people who asked for work where these may not decide, and times the votes that stand.
 */
import type { Caller } from "../contract/auth-context.ts";
import { raise } from "../contract/error.ts";
import { kernelError } from "../contract/error-codes.ts";
import { asksRole, type Gate } from "../contract/gate.ts";
import { gateOfSeats } from "../contract/gate-seats.ts";
import type { GateFilter } from "../contract/list-filter.ts";
import { moduleRef } from "../contract/module-ref.ts";
import { yieldToEventLoop } from "../engine/actors/yield-to-event-loop.ts";
import { fewSeats, type GateSelection } from "../ports/gate-page.ts";
import type { LedgerStore } from "../ports/ledger-store.ts";
import { assignedFinder, type SeatParts, snoozedFinder, votedFinder, waitingFinder } from "./describe-seat.ts";

const listRef = moduleRef(0, "gateway", "list");
/** Texts that are judged in one go. */
const segment = 1_000;

interface SeatQuestion {
  readonly selection: GateSelection;
  readonly filter: Pick<GateFilter, "mine" | "voted" | "assigned" | "snoozed" | "role">;
  readonly caller: Caller | undefined;
}

/**
 * Returns the texts of the gates that a filter keeps; null if it keeps all of the selection.
 * @throws KernelErrorException T0_LIST_TOO_WIDE.
 */
export async function selectSeats(
  parts: SeatParts & { readonly store: LedgerStore },
  { selection, filter, caller }: SeatQuestion,
): Promise<readonly string[] | null> {
  const tests = await testsOf(parts, filter, caller);
  if (tests.length === 0) return null;
  const most = parts.runtime.limits.maxListScanned;
  const found = await findSeats(parts.store, selection, most);
  const kept: string[] = [];
  for (const [at, seat] of found.entries()) {
    if (at % segment === segment - 1) await yieldToEventLoop();
    const gate = gateOfSeats(seat);
    if (tests.every((passes) => passes(gate))) kept.push(seat);
  }
  return kept.length === found.length && found.length > 0 ? null : kept;
}

/** Finds the texts of the whole tenant, which costs least while they are few; else those of the selection. */
async function findSeats(store: LedgerStore, selection: GateSelection, most: number): Promise<readonly string[]> {
  const { tenant_id } = selection;
  const few = Math.min(fewSeats, most);
  const ofTenant = tenant_id === undefined ? null : await store.listSeats({ tenant_id }, few + 1);
  if (ofTenant !== null && ofTenant.length <= few) return ofTenant;
  const found = await store.listSeats(selection, most + 1);
  return found.length > most ? refuseMore(most) : found;
}

async function testsOf(
  parts: SeatParts,
  { mine = false, voted, assigned, snoozed, role }: SeatQuestion["filter"],
  caller: Caller | undefined,
): Promise<readonly ((gate: Gate) => boolean)[]> {
  const tests: ((gate: Gate) => boolean)[] = [];
  if (role !== undefined) tests.push((gate) => asksRole(gate, role));
  if (mine) tests.push(await waitingFinder(parts, requireCaller(caller, "mine")));
  if (voted !== undefined) {
    const hasVoted = votedFinder(parts, requireCaller(caller, "voted"));
    tests.push((gate) => hasVoted(gate) === voted);
  }
  if (assigned === "nobody") tests.push(({ conversation }) => (conversation?.assigned_to ?? null) === null);
  if (assigned === "me") tests.push(assignedFinder(requireCaller(caller, "assigned: me")));
  if (snoozed !== undefined) {
    const hasSnoozed = snoozedFinder(parts, requireCaller(caller, "snoozed"));
    tests.push((gate) => hasSnoozed(gate) === snoozed);
  }
  return tests;
}

const requireCaller = (caller: Caller | undefined, name: string): Caller =>
  caller ?? refuse(`filter: ${name} is a caller's; the embedding host has no seat at a gate`);

const refuse = (message: string): never => raise(kernelError("T0_VALIDATION_SCHEMA_MISMATCH", message, listRef));

const refuseMore = (maxListScanned: number): never =>
  raise(
    kernelError("T0_LIST_TOO_WIDE", `the gates have more than ${maxListScanned} different sets of people`, listRef, {
      detail: { maxListScanned },
    }),
  );
