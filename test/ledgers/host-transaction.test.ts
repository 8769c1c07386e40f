/** What an operator writes to the host's own SQLite file is there once, whoever dies when. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { defineOperator } from "../../src/index.ts";
import { hostTransaction, hostTransactionTable } from "../../src/ledger/sqlite/index.ts";
import { callOperator } from "../../src/testing/index.ts";
import { freshPaths } from "../fixtures.ts";

const freshPath = freshPaths();

function openAccounts(path: string): DatabaseSync {
  const db = new DatabaseSync(path, { timeout: 2000 });
  db.exec(`PRAGMA journal_mode = WAL; CREATE TABLE accounts (cents INTEGER); INSERT INTO accounts VALUES (0)`);
  db.exec(hostTransactionTable);
  return db;
}

const centsIn = (db: DatabaseSync) => db.prepare("SELECT cents FROM accounts").get()?.["cents"];

function payOperator(db: DatabaseSync, then: () => unknown = () => undefined) {
  return defineOperator({
    name: "Ledger.Pay",
    input: z.object({ cents: z.number() }),
    effect: "final_write",
    idempotent: true,
    run: hostTransaction(db, (tx, { input }: { input: { cents: number } }) => {
      tx.prepare("UPDATE accounts SET cents = cents + ?").run(input.cents);
      return then() ?? { paid: input.cents };
    }),
  });
}

describe("hostTransaction on SQLite", () => {
  it("takes effect once for a key, gives its result again, and rolls back what throws or waits", async () => {
    const db = openAccounts(freshPath());
    const pay = (operator: ReturnType<typeof payOperator>, idempotencyKey: string) =>
      callOperator({ operator, input: { cents: 5 }, idempotencyKey });
    const [one, again] = [await pay(payOperator(db), "k"), await pay(payOperator(db), "k")];
    expect([one.output, again.output, centsIn(db)]).toEqual([{ paid: 5 }, { paid: 5 }, 5]);
    const throwing = payOperator(db, () => {
      throw new Error("not now");
    });
    await expect(pay(throwing, "l")).rejects.toThrow("not now");
    await expect(
      pay(
        payOperator(db, async () => ({})),
        "l",
      ),
    ).rejects.toMatchObject({ error: { code: "T4_OPERATOR_BUG" } });
    expect(centsIn(db)).toBe(5);
    await pay(payOperator(db), "l");
    expect(centsIn(db)).toBe(10);
    db.close();
  });

  it("takes effect exactly once for each key, in processes that are killed in the middle", async () => {
    const path = freshPath();
    const db = openAccounts(path);
    for (let round = 0; ; round += 1) {
      const child = spawn(process.execPath, [join(import.meta.dirname, "pay.ts"), path, "60"]);
      child.stderr.resume();
      let paid = 0;
      child.stdout.on("data", (bytes: Buffer) => {
        paid += bytes.toString().split("\n").length - 1;
        if (round < 3 && paid >= 5 + 7 * round) child.kill("SIGKILL");
      });
      const [code] = await once(child, "exit");
      if (code === 0) break;
      expect(round).toBeLessThan(10);
    }
    expect(centsIn(db)).toBe(60);
    db.close();
  });
});
