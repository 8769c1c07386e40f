/**
 * Any order of naming and ending stand-ins, of time that passes and of votes: who votes in whose seat is what a plain
 * model says, no seat votes twice, and nobody votes for others without an order of one link that holds.
 */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { KernelErrorException } from "../../src/index.ts";
import { createTestKernel, type TestKernel } from "../../src/testing/index.ts";
import { runs } from "../properties/property-runs.ts";
import { away, endAway, hour } from "./away.ts";
import { approve, gated, type Person, person, waiting } from "./people.ts";
import { payloads } from "./story.ts";

const names = ["ann", "bob", "cy", "di", "eli"] as const;
const seated: readonly string[] = names.slice(0, 3);
const people = names.map((name) => person(name));
const personAt = (n: number): Person => people[n] as Person;
const idAt = (n: number): string => names[n] as string;

type Act =
  | { readonly what: "name"; readonly by: number; readonly to: number; readonly from: number; readonly hours: number }
  | { readonly what: "end"; readonly which: number }
  | { readonly what: "wait"; readonly hours: number }
  | { readonly what: "vote"; readonly by: number };

const anAct: fc.Arbitrary<Act> = fc.oneof(
  fc.record({
    what: fc.constant("name" as const),
    by: fc.nat({ max: 3 }),
    to: fc.integer({ min: 1, max: 4 }),
    from: fc.constantFrom(0, 0, 0, 1, 2),
    hours: fc.integer({ min: 2, max: 8 }),
  }),
  fc.record({ what: fc.constant("end" as const), which: fc.nat({ max: 9 }) }),
  fc.record({ what: fc.constant("wait" as const), hours: fc.integer({ min: 1, max: 3 }) }),
  fc.record({ what: fc.constant("vote" as const), by: fc.constantFrom(0, 1, 2, 3, 3, 4, 4) }),
);

interface Order {
  readonly id: string;
  readonly by: string;
  readonly to: string;
  readonly from: number;
  readonly until: number;
}

/** A plain model of a gate with three seats and of the orders about them. */
class Model {
  readonly votes: (readonly [voter: string, seat: string, order: string | null])[] = [];
  orders: Order[] = [];

  isTaken = (seat: string): boolean => this.votes.some(([, taken]) => taken === seat);

  vote(voter: string, now: number): void {
    if (this.votes.length === seated.length || this.votes.some(([by]) => by === voter)) return;
    if (seated.includes(voter)) {
      if (!this.isTaken(voter)) this.votes.push([voter, voter, null]);
      return;
    }
    const order = this.orders
      .filter(({ to, from, until }) => to === voter && from <= now && now < until)
      .find(({ by }) => seated.includes(by) && !this.isTaken(by));
    if (order !== undefined) this.votes.push([voter, order.by, order.id]);
  }
}

/** Performs an act; a refusal changes nothing. */
async function perform(t: TestKernel, id: string, model: Model, act: Act): Promise<void> {
  const now = t.clock.now();
  if (act.what === "wait") return t.clock.advance(act.hours * hour);
  if (act.what === "vote") {
    model.vote(idAt(act.by), now);
    await orRefused(approve(t, id, personAt(act.by)));
    return;
  }
  if (act.what === "end") {
    const order = model.orders[act.which];
    if (order === undefined) return;
    model.orders = model.orders.filter((one) => one !== order);
    await endAway(t, person(order.by), order.id);
    return;
  }
  const [from, until] = [now + act.from * hour, now + (act.from + act.hours) * hour];
  const times = { from: new Date(from).toISOString(), until: new Date(until).toISOString() };
  const named = await orRefused(away(t, [personAt(act.by), personAt(act.to)], times));
  const isNew = named !== null && !model.orders.some((one) => one.id === named.stand_in_id);
  if (named !== null && isNew)
    model.orders.push({ id: named.stand_in_id, by: idAt(act.by), to: idAt(act.to), from, until });
}

async function orRefused<T>(work: Promise<T>): Promise<T | null> {
  try {
    return await work;
  } catch (thrown) {
    if (thrown instanceof KernelErrorException) return null;
    throw thrown;
  }
}

describe("any order of stand-ins, times and votes", () => {
  it("[GAT-07] gives each seat one vote, by its owner or by an order of one link that holds", async () => {
    let byOrder = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(anAct, { minLength: 8, maxLength: 24 }), async (acts) => {
        const { capability } = gated({ approvers: seated.map((id) => ({ id })), quorum: { approvals: 3 } });
        await using t = await createTestKernel({ capabilities: [capability] });
        const id = await waiting(t);
        const model = new Model();
        for (const act of acts) await perform(t, id, model, act);
        const votes = (await payloads(t, id, "GATE_VOTED")).map((vote) => [
          vote.principal.id,
          vote.on_behalf_of?.id ?? vote.principal.id,
          vote.stand_in ?? null,
        ]);
        expect(votes).toEqual(model.votes);
        expect(new Set(votes.map(([, seat]) => seat)).size).toBe(votes.length);
        byOrder += votes.filter(([, , order]) => order !== null).length;
        expect((await t.kernel.replay(id)).difference).toBeNull();
        expect((await t.kernel.verify()).broken).toEqual([]);
      }),
      { numRuns: runs(40) },
    );
    expect(byOrder).toBeGreaterThan(5);
  });
});
