/** An index row that cannot be read: a code for who asks for it, and nobody else is kept from anything. */
import { describe, expect, it } from "vitest";
import { sqliteLedger } from "../../src/ledger/sqlite/index.ts";
import { expectRefused, openKernel } from "../bad-input/fixture.ts";
import { createWorld, job, step, work } from "../recovery/shared-file.ts";
import { freshPaths, withDatabase } from "./ledger-files.ts";

const freshPath = freshPaths();
const asked = job([step("s1", "Test.Write", { gate: { reason: "look" } })], [work(createWorld(), "Test.Write")]);
const open = (path: string, seed = 1) => openKernel({ seed, ledger: sqliteLedger({ path }), capabilities: [asked] });

describe("an index row that cannot be read", () => {
  it("[LED-02] is refused as T0_LEDGER_CORRUPT by the list that holds it", async () => {
    const path = freshPath();
    await using t = await open(path);
    await t.run("Test.Job");
    withDatabase(path, (db) => db.exec("UPDATE gates SET record = '{'"));
    await expectRefused(t.kernel.gates(), "T0_LEDGER_CORRUPT");
    withDatabase(path, (db) => db.exec("UPDATE workflows SET principal_id = 'x'"));
    await expectRefused(t.kernel.workflows(), "T0_LEDGER_CORRUPT");
    expect((await t.run("Test.Neighbour")).state).toBe("completed");
  });

  it("[LED-02] keeps no process from starting and taking up the others", async () => {
    const path = freshPath();
    const first = await open(path);
    await first.run("Test.Job");
    await first.kernel.stop();
    withDatabase(path, (db) => db.exec("UPDATE workflows SET tenant_id = '{', state = 'running', owner = NULL"));
    await using t = await open(path, 2);
    expect((await t.run("Test.Neighbour")).state).toBe("completed");
    expect((await t.kernel.verify()).broken.map(({ index }) => index?.table)).toContain("workflows");
  });
});
