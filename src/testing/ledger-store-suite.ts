/**
 * The one suite that every ledger store passes (LED-09), for any runner that has describe, it and expect.
 *
 * Owns: the opening and closing around each test, and what the life of a store promises. The rest of the port's
 * promises are in ledger-log-suite.ts, ledger-lease-suite.ts, ledger-index-suite.ts and
 * ledger-wait-suite.ts.
 * Never: imports a runner, sleeps, or looks behind the port.
 * 1.  Each test opens a store of its own with `create` and closes it.
 */
import type { LedgerStore } from "../ports/ledger-store.ts";
import { addGrantTests, addHaltTests, addHoldTests } from "./ledger-hold-suite.ts";
import { addIndexTests } from "./ledger-index-suite.ts";
import { addLeaseTests } from "./ledger-lease-suite.ts";
import { addListTests } from "./ledger-list-suite.ts";
import { addLogTests } from "./ledger-log-suite.ts";
import { addQueueTests } from "./ledger-queue-suite.ts";
import { addScheduleTests } from "./ledger-schedule-suite.ts";
import { addStandInTests } from "./ledger-stand-in-suite.ts";
import { judge, type LedgerSuiteRunner, me, type SuiteParts } from "./ledger-suite-parts.ts";
import { firstTurn, nextTurn, testStream } from "./ledger-turns.ts";
import { addWaitTests } from "./ledger-wait-suite.ts";

/** The runner's functions, and how a store is opened. */
export interface LedgerStoreSuite extends LedgerSuiteRunner {
  readonly name: string;
  /** A store on fresh data, not yet open. */
  readonly create: () => LedgerStore | Promise<LedgerStore>;
  /** Two stores on the same fresh data, to be used one after the other. Leave out if data ends with `close`. */
  readonly createTwo?: () => readonly [LedgerStore, LedgerStore] | Promise<readonly [LedgerStore, LedgerStore]>;
}

/** Registers the tests that every ledger store must pass. */
export function ledgerStoreSuite(suite: LedgerStoreSuite): void {
  const { describe, it, expect, name, create } = suite;
  const test: SuiteParts["test"] = (law, body) => it(law, async () => withOpen(await create(), body));
  describe(`ledger store: ${name}`, () => {
    addLogTests({ test, expect });
    addLeaseTests({ test, expect });
    addIndexTests({ test, expect });
    addHoldTests({ test, expect });
    addHaltTests({ test, expect });
    addGrantTests({ test, expect });
    addStandInTests({ test, expect });
    addListTests({ test, expect });
    addWaitTests({ test, expect });
    addScheduleTests({ test, expect });
    addQueueTests({ test, expect });
    addLifeTests({ test, expect });
    if (suite.createTwo !== undefined) addReopenTest(suite, suite.createTwo);
  });
}

async function withOpen(store: LedgerStore, body: (store: LedgerStore) => Promise<void>): Promise<void> {
  await store.open();
  try {
    await body(store);
  } finally {
    await store.close();
  }
}

function addLifeTests({ test, expect }: SuiteParts): void {
  test("close is idempotent, and a closed store rejects with a coded error", async (store) => {
    await store.close();
    await store.close();
    const code = await store.append([nextTurn(testStream(1)).entry]).then(
      () => "appended",
      (thrown: { readonly error?: { readonly code?: string } }) => thrown.error?.code,
    );
    expect(code).toEqual("T0_LEDGER_UNAVAILABLE");
  });
}

function addReopenTest({ it, expect }: LedgerSuiteRunner, createTwo: NonNullable<LedgerStoreSuite["createTwo"]>): void {
  it("what was acknowledged is there after a reopen", async () => {
    const [first, second] = await createTwo();
    const { entry, after } = firstTurn(testStream(1), {}, { claim: me });
    await withOpen(first, async (store) => expect(await judge(store, entry)).toEqual(true));
    await withOpen(second, async (store) => {
      expect(await store.read(after.id)).toEqual([entry.row]);
      expect((await store.head(after.id))?.owner).toEqual("me");
      expect(await judge(store, nextTurn(after, { lease: { owner: me, epoch: 1 } }).entry)).toEqual(true);
    });
  });
}
