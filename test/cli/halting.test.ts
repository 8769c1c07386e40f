/** Stopping work on the command line: what is halted is accepted and held, and goes on once the halt is lifted. */
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createKernel } from "../../src/index.ts";
import { sqliteLedger } from "../../src/ledger/sqlite/index.ts";
import { makeTempFolder, type TempFolder } from "../operators/temp-folder.ts";
import { readHere, runHere } from "./command-line.ts";

let folder: TempFolder;
let at: readonly string[] = [];

beforeAll(async () => {
  folder = makeTempFolder();
  const path = join(folder.path, "halts.db");
  await using kernel = await createKernel({ ledger: sqliteLedger({ path }) });
  await kernel.halts(0);
  at = ["--db", path];
});
afterAll(() => folder[Symbol.dispose]());

interface Told {
  readonly halt_id: string;
}

describe("halt, lift and halts", () => {
  it("set a halt once, show it on one line without its control characters, and lift it", async () => {
    const order = [
      "halt",
      "--role",
      "admin",
      "--operator",
      "Bank.Pay\u001b[2J",
      "--of",
      "7",
      "--reason",
      "wrong account",
    ];
    const { halt_id } = await readHere<Told>(...order, ...at);
    expect((await runHere(...order, ...at)).out.trim()).toBe(`${halt_id} halted`);
    const { out } = await runHere("halts", ...at);
    expect(out).toContain(halt_id);
    expect(out).not.toContain("\u001b[2J");
    const shown = await readHere<{ halts: readonly unknown[] }>("halts", ...at);
    expect(shown.halts).toEqual([
      expect.objectContaining({
        of: { operator: "Bank.Pay\u001b[2J", principal: { id: 7 } },
        reason: "wrong account",
        held: { workflows: 0, steps: 0 },
      }),
    ]);
    expect(await readHere("lift", halt_id, "--role", "admin", ...at)).toEqual({ halt_id, status: "lifted" });
    expect((await runHere("halts", ...at)).out).toBe("no halts\n");
  });

  it("refuse a role that may not, and a halt that is not there", async () => {
    const refused = await runHere("halt", "--reason", "stop", ...at);
    expect([refused.code, refused.err]).toEqual([1, expect.stringContaining("T5_AUTHZ_FORBIDDEN")]);
    const missing = await runHere("lift", "hlt_01JZ0000000000000000000000", "--role", "admin", ...at);
    expect([missing.code, missing.err]).toEqual([1, expect.stringContaining("T5_HALT_NOT_FOUND")]);
  });
});
