/**
 * The right to write workflows' turns, and the owners that are alive.
 *
 * Owns: the holder's columns outside an append, and the table of owners.
 * 1.  The epoch rises with each claim, also with a repeated one by the same owner.
 * 2.  An owner that is removed has lost all it held: its next heartbeat reports it, and it begins anew. Its work under
 *     way in the database is undone, so that nobody waits for the locks of a hanging process.
 * 3.  The database's clock decides until when an owner is alive: times of the callers' clocks are corrected by the
 *     machine's deviation. A machine that deviates by more than a minute takes nothing up.
 * 4.  A name belongs to one process: another gets it when that one is gone.
 */
import type { LedgerStore, TakenUp } from "../../ports/ledger-store.ts";
import { readableHead } from "../tables/columns.ts";
import { ledgerFailure } from "./failure.ts";
import { firstOf, type Runner, rowsOf } from "./query.ts";
import { findQueued } from "./read-queues.ts";
import { plainHead } from "./read-records.ts";
import { statement } from "./statements.ts";
import type { Run } from "./store.ts";

const takes = { due: "takeDue", abandoned: "takeAbandoned", freed: "takeFreed" } as const;

/** The registration of one open ledger. */
export interface Entered {
  /** For messages. */
  readonly name: string;
  readonly session: string;
  /** The process id of the lock that is held while the process lives; null without one. */
  readonly lock: () => number | null;
  /** The number of its heartbeats. */
  beats: number;
}

type Owning = Pick<LedgerStore, "heartbeat" | "claim" | "takeUp" | "release" | "held">;

/** A smaller deviation may be the latency of an answer. */
const leastApartMs = 1_000;
const mostApartMs = 60_000;

export function createOwners({ read, write }: Run, entered: () => Entered): Owning {
  let aheadMs = 0;
  const putRight = (now: number): number => now + aheadMs;
  const measure = (askedAt: number, databaseAt: number): void => {
    const apartMs = databaseAt - (askedAt + Date.now()) / 2;
    aheadMs = Math.abs(apartMs) < leastApartMs ? 0 : apartMs;
    if (Math.abs(aheadMs) <= mostApartMs) return;
    const [by, than] = [Math.round(Math.abs(aheadMs) / 1000), aheadMs < 0 ? "behind" : "ahead of"];
    const place = { name: entered().name, fn: "heartbeat" };
    throw ledgerFailure("T0_LEDGER_CLOCK", `has a clock that is ${by} s ${than} this machine's`, place);
  };
  const prolong = async (on: Runner, owner: string, until: () => number): Promise<boolean> => {
    const { session, lock } = entered();
    entered().beats += 1;
    const askedAt = Date.now();
    const known = await firstOf(on, statement("prolong", owner, session, until(), lock()));
    measure(askedAt, (known ?? (await firstOf(on, statement("clock"))))?.["at"] as number);
    return known !== undefined;
  };
  return {
    heartbeat: async (owner, now, ttlMs) => {
      const until = () => putRight(now + ttlMs);
      const ask = () => read("heartbeat", (on) => prolong(on, owner, until));
      // A late process has had its connections closed, and finds that out by using one.
      if (await ask().catch(ask)) return true;
      await write("heartbeat", (on) => enter(on, owner, { ...entered(), now: putRight(now), until: until() }));
      return false;
    },
    claim: (workflowId, owner, now) =>
      read("claim", async (on) => {
        const claim = () => firstOf(on, statement("claim", workflowId, owner));
        const taken = (await claim()) ?? ((await freeGone(on, putRight(now), entered())) ? await claim() : undefined);
        return taken === undefined ? null : { owner, epoch: taken["epoch"] as number };
      }),
    takeUp: (kind, owner, now, limit, elsewhere = []) =>
      read("takeUp", async (on) => {
        await freeGone(on, putRight(now), entered());
        const take =
          kind === "queued"
            ? statement("takeQueued", owner, await findQueued(on, limit, now), elsewhere)
            : statement(takes[kind], owner, now, limit, elsewhere);
        const rows = await rowsOf(on, take);
        return rows
          .flatMap((row) => readableHead(() => plainHead(row)))
          .map(takenUp)
          .sort(earliestFirst);
      }),
    release: (workflowId, { owner, epoch }) =>
      read("release", async (on) => {
        await on.query(statement("release", workflowId, owner, epoch));
      }),
    held: (owner) => read("held", async (on) => (await rowsOf(on, statement("held", owner))) as never),
  };
}

interface Entering extends Entered {
  /** The instant by the database's clock. */
  readonly now: number;
  readonly until: number;
}

async function enter(on: Runner, owner: string, { name, session, lock, now, until }: Entering): Promise<void> {
  await on.query(statement("strikeOffOther", owner, session, now, lock()));
  if ((await firstOf(on, statement("enterOwners", owner, session, until, lock()))) === undefined)
    throw ledgerFailure("T0_LEDGER_LOCKED", `has a living owner called ${owner} already`, { name, fn: "heartbeat" });
  await on.query(statement("freeHeld", owner));
}

/** Returns whether anything was freed. */
async function freeGone(on: Runner, now: number, { session }: Entered): Promise<boolean> {
  await on.query(statement("strikeOffGone", now, session));
  return ((await on.query(statement("freeOrphaned"))).rowCount ?? 0) > 0;
}

const takenUp = (head: TakenUp["head"]): TakenUp => ({
  head,
  lease: { owner: head.owner as string, epoch: head.epoch },
});

const earliestFirst = ({ head: a }: TakenUp, { head: b }: TakenUp): number =>
  (a.due_at ?? 0) - (b.due_at ?? 0) || (a.workflow_id < b.workflow_id ? -1 : 1);
