/**
 * The conversion of an earlier release's ledger. The old release is a package that exports the present library under
 * the same two names: what the script asks of it is the same, whatever its rows look like inside.
 */
import { execFile } from "node:child_process";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { openTurns } from "../../src/index.ts";
import { sqliteLedger } from "../../src/ledger/sqlite/index.ts";
import { createTestKernel } from "../../src/testing/test-kernel.ts";
import { counted, intentType, packageOf, planStep } from "../journey/parts.ts";
import { freshPaths, withDatabase, withStore } from "./ledger-files.ts";

const freshPath = freshPaths();
const root = new URL("../../", import.meta.url);

/** Makes a folder of a release whose entries export these modules of the present one. */
function releaseOf(entries: Readonly<Record<string, string>>): string {
  const folder = `${freshPath()}-release`;
  mkdirSync(folder);
  const names = Object.keys(entries);
  for (const name of names)
    writeFileSync(join(folder, `${name}.ts`), `export * from "${new URL(entries[name] as string, root).href}";\n`);
  const target = (name: string) => ({ default: `./dist/${name}.js` });
  const exports = Object.fromEntries(names.map((name) => [name === "index" ? "." : `./${name}`, target(name)]));
  writeFileSync(join(folder, "package.json"), JSON.stringify({ type: "module", exports }));
  return folder;
}

const release = () => releaseOf({ index: "src/index.ts", sqlite: "src/ledger/sqlite/index.ts" });

async function convert(...options: readonly string[]) {
  const script = fileURLToPath(new URL("test/ledgers/convert-ledger.ts", root));
  const run = promisify(execFile)(process.execPath, [script, ...options]);
  return run.then(
    ({ stdout }) => ({ code: 0, out: stdout }),
    ({ code, stderr }) => ({ code, out: stderr as string }),
  );
}

const draft = counted("Note.Draft", {}, () => ({ text: "hello" }));
const send = counted("Note.Send", { effect: "write_draft" });
const steps = [planStep("s1", draft), planStep("s2", send, { gate: {}, depends_on: ["s1"] })];
const capabilities = [packageOf([draft, send], steps)];

/** Writes two workflows that wait at a gate, one of them approved and completed. */
async function fill(path: string): Promise<readonly [done: string, waiting: string]> {
  await using t = await createTestKernel({ ledger: sqliteLedger({ path }), capabilities });
  const [done, waiting] = [await t.run(intentType), await t.run(intentType)];
  await t.approve(done.workflow_id);
  await t.kernel.settled(done.workflow_id);
  return [done.workflow_id, waiting.workflow_id];
}

const eventsIn = (path: string, id: string) =>
  withStore(sqliteLedger({ path }), async (store) => openTurns(await store.read(id)));

describe("npm run convert", () => {
  it("writes the same events into a sound new ledger, and a waiting workflow goes on there", async () => {
    const [from, to] = [freshPath(), freshPath()];
    const [done, waiting] = await fill(from);
    const { code, out } = await convert("--old", release(), "--from", from, "--to", to);
    expect([code, out]).toEqual([0, expect.stringMatching(/events in \d+ rows of 2 streams .* is sound/)]);
    expect(out).toContain("replay cannot decide converted workflows again");
    for (const id of [done, waiting]) expect(await eventsIn(to, id)).toEqual(await eventsIn(from, id));
    await using t = await createTestKernel({ ledger: sqliteLedger({ path: to }), capabilities });
    expect(await t.kernel.verify()).toMatchObject({ ok: true, broken: [] });
    await t.approve(waiting);
    expect((await t.kernel.settled(waiting)).state).toBe("completed");
  });

  it("leaves no file where a row of the old ledger is damaged", async () => {
    const [from, to] = [freshPath(), freshPath()];
    await fill(from);
    withDatabase(from, (db) =>
      db.exec("DROP TRIGGER events_keep_on_update; UPDATE events SET body = replace(body, 'hello', 'hullo')"),
    );
    const { code, out } = await convert("--old", release(), "--from", from, "--to", to);
    expect([code, out]).toEqual([1, expect.stringContaining("T0_LEDGER_CORRUPT")]);
    expect([to, `${to}.part`].filter((path) => existsSync(path))).toEqual([]);
  });

  it("refuses a missing source, an existing target, a folder without a release, and an unknown option", async () => {
    const [from, to] = [freshPath(), freshPath()];
    await fill(from);
    const bare = releaseOf({ index: "src/contract/digest.ts", sqlite: "src/contract/digest.ts" });
    const refusals = [
      [["--old", release(), "--from", to, "--to", `${to}2`], "does not exist"],
      [["--old", release(), "--from", from, "--to", from], "exists already"],
      [["--old", bare, "--from", from, "--to", to], "is no release of Countersign"],
      [["--old", `${bare}/nowhere`, "--from", from, "--to", to], "has no package.json"],
      [["--from", from, "--to", to], "usage:"],
      [["--olden", bare], "--olden"],
    ] as const;
    for (const [options, why] of refusals)
      expect(await convert(...options)).toEqual({ code: 1, out: expect.stringContaining(why) });
    expect(existsSync(to)).toBe(false);
  });
});
