// `countersign replay` of the release notes demo: from the ledger file and from an export, and what it says of another
// one.

import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { renderReplay } from "../../src/faces/cli/replay.ts";
import type { Replay } from "../../src/index.ts";
import { asOrdinaryUser } from "../fixtures.ts";
import type { TempFolder } from "../operators/temp-folder.ts";
import { readHere, runHere } from "./command-line.ts";
import { demonstrate, keepAs, makeWorkplace } from "./workplace.ts";

let folder: TempFolder;
let db = "";
let id = "";
let rows = "";
beforeAll(async () => {
  const workplace = makeWorkplace();
  ({ folder, db } = workplace);
  ({ id, rows } = await demonstrate(workplace));
});
afterAll(() => folder[Symbol.dispose]());

const exportedAs = (name: string, text: string): string => keepAs(folder, name, text);

describe("replay", () => {
  it("of the demo finds no difference, from the ledger and from its export", async () => {
    const replay = await readHere<Replay>("replay", id, "--db", db);
    expect(replay).toMatchObject({ workflow_id: id, identical: true, difference: null });
    const file = exportedAs("whole.jsonl", rows);
    expect(await readHere<Replay>("replay", id, "--import", file)).toEqual(replay);
    const told = await runHere("replay", id, "--import", file);
    expect(told).toMatchObject({ code: 0, err: "" });
    expect(told.out).toContain(`identical: ${replay.events} events of ${id}, head ${replay.head}`);
  });

  it("refuses an export with a byte altered, whose entry verify names", async () => {
    const file = exportedAs("altered.jsonl", rows.replace("mend the hinge", "mend the hinga"));
    const replayed = await runHere("replay", id, "--import", file);
    expect(replayed.code).toBe(1);
    expect(replayed.err).toContain("T0_LEDGER_CORRUPT");
    const verified = await runHere("verify", "--import", file);
    expect(verified.code).toBe(1);
    expect(verified.out).toMatch(/at sequence \d+: body/);
  });

  it("that differs is shown with the event, what it was and what it is", () => {
    const where = { sequence: 3, event_id: "evt_1", event_type: "ACTION_STARTED", step_id: "draft" };
    const found = {
      code: "EVENT_DIFFERS",
      path: "payload.attempt",
      expected: 7,
      actual: 1,
      reason: "it differs",
    } as const;
    const replay = { workflow_id: "wf_1", identical: false, events: 2, head: null, difference: { ...where, ...found } };
    const text = renderReplay(replay, { paint: (_colour: string, told: string) => told, columns: 80 } as never);
    expect(text).toContain("different: wf_1 at sequence 3, ACTION_STARTED of draft");
    expect(text).toMatch(/at +payload\.attempt\n +ledger +7\n +replay +1/);
  });

  it("asks no policy: under another one it is identical", async () => {
    const deny = '{ name: "deny", stages: ["action"], evaluate: () => ({ decision: "DENY", reason: "no" }) }';
    const policy = exportedAs("deny.mjs", `export const deny = ${deny};\n`);
    expect(await runHere("replay", id, "--db", db, "--capabilities", policy)).toMatchObject({ code: 0, err: "" });
  });

  it.each([
    ["a file that is not there", "nowhere.jsonl", null],
    ["a file without the workflow", "empty.jsonl", ""],
    ["a file of another kind", "other.jsonl", "{"],
  ])("refuses %s as wrong usage", async (_what, name, text) => {
    const file = text === null ? join(folder.path, name) : exportedAs(name, text);
    expect((await runHere("replay", id, "--import", file)).code).toBe(2);
  });

  it.each([
    ["verify", "--import"],
    ["replay", "wf_1", "--import"],
    ["inspect", "--import"],
  ])("%s: a file that cannot be read is wrong usage, and told", async (...words) => {
    const long = await runHere(...words, join(folder.path, "x".repeat(300)));
    expect(long).toMatchObject({ code: 2, out: "", err: expect.stringContaining("cannot be read: ENAMETOOLONG") });
    const file = exportedAs("closed.jsonl", rows);
    const closed = await asOrdinaryUser(() => runHere(...words, file));
    const unreadable = `${file}: it cannot be read: EACCES`;
    expect(closed).toMatchObject({ code: 2, out: "", err: expect.stringContaining(unreadable) });
    const other = await runHere(...words, folder.path);
    expect(other).toMatchObject({ code: 2, out: "", err: expect.stringContaining("is not a file") });
  });
});
