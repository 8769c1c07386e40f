/** Every store passes the one suite: SQLite in a file, in memory, and the store of the tests. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { sqliteLedger } from "../../src/ledger/sqlite/index.ts";
import { ledgerStoreSuite } from "../../src/testing/ledger-store-suite.ts";
import { memoryLedger } from "../../src/testing/memory-ledger.ts";

const folder = mkdtempSync(join(tmpdir(), "countersign-suite-"));
let files = 0;
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function freshPath(): string {
  files += 1;
  return join(folder, `${files}.db`);
}

function createTwo() {
  const path = freshPath();
  return [sqliteLedger({ path }), sqliteLedger({ path })] as const;
}

describe("[LED-09] storage is a port: stores of different kinds pass one suite", () => {
  const runner = { describe, it, expect };
  ledgerStoreSuite({
    ...runner,
    name: "SQLite file",
    create: () => sqliteLedger({ path: freshPath() }),
    createTwo,
  });
  ledgerStoreSuite({ ...runner, name: "SQLite in memory", create: () => sqliteLedger() });
  ledgerStoreSuite({ ...runner, name: "memoryLedger", create: () => memoryLedger() });
});
