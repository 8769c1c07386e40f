/**
 * The verifiers that the guide gives away, in JavaScript and in Python: they accept what the kernel writes, and they
 * name the stream and the sequence of what somebody changed.
 */
import { copyFileSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { rowText } from "../../src/contract/chain.ts";
import { type TurnRow, verifyEvidence } from "../../src/index.ts";
import { composeEvidence } from "../../src/tiers/t6-metacognition/compose-evidence.ts";
import { makeTempFolder } from "../fixtures.ts";
import { runs } from "../properties/property-runs.ts";
import { goldenLedgers, readRows } from "../replay/golden-ledgers.ts";
import {
  pageFiles,
  runnable,
  type Verdict,
  type Verifier,
  verifiers,
  verifyFile,
  verifyFiles,
  writeVerifiers,
} from "./guide-verifiers.ts";
import { verifyWithKernel } from "./kernel-verdicts.ts";
import { type DemoLedger, readStored, recordDemo, writeStored } from "./ledger-samples.ts";

const folder = makeTempFolder();
const at = (name: string): string => join(folder.path, name);
/** Runs the verifier on one file, as a user does. */
const verify = (verifier: Verifier, file: string): readonly Verdict[] => verifyFile(verifier, folder.path, file);
/** Runs the verifier on all of the files in one process. */
const verifyAll = (verifier: Verifier, files: readonly string[]): readonly (readonly Verdict[])[] =>
  verifyFiles(verifier, folder.path, files);

let count = 0;
function writeExport(lines: readonly string[]): string {
  count += 1;
  const file = at(`export-${count}.jsonl`);
  writeFileSync(file, lines.map((line) => `${line}\n`).join(""));
  return file;
}
function writeLedger(rows: readonly TurnRow[]): string {
  count += 1;
  const file = at(`ledger-${count}.db`);
  writeStored(file, rows);
  return file;
}

let demo: DemoLedger;
let rows: readonly TurnRow[] = [];
beforeAll(async () => {
  writeVerifiers(folder.path);
  mkdirSync(at("demo"));
  demo = await recordDemo(at("demo"));
  rows = readStored(demo.file);
});
afterAll(() => folder[Symbol.dispose]());

/** Changes one character in the middle of a text. */
function alter(text: string): string {
  const middle = Math.floor(text.length / 2);
  return `${text.slice(0, middle)}${text[middle] === "7" ? "8" : "7"}${text.slice(middle + 1)}`;
}

/**
 * Something that somebody does to a ledger at a row, and which of the rows that are left is then named, with which
 * reason.
 */
interface Damage {
  readonly what: string;
  readonly broken: string;
  readonly harm: (rows: readonly TurnRow[], place: number) => readonly TurnRow[];
  readonly named: number;
}

const change = (what: string, broken: string, changed: (row: TurnRow) => Partial<TurnRow>): Damage => ({
  ...{ what, broken, named: 0 },
  harm: (sound, place) => sound.with(place, { ...sound[place]!, ...changed(sound[place]!) }),
});

const damages: readonly Damage[] = [
  change("an altered byte of an envelope", "hash", ({ envelope }) => ({ envelope: alter(envelope) })),
  change("an altered byte of a body", "body", ({ body }) => ({ body: alter(body ?? "") })),
  change("an altered byte of a body's hash", "body", ({ body_hash }) => ({ body_hash: alter(body_hash) })),
  change("an altered byte of a previous hash", "link", ({ prev_hash }) => ({ prev_hash: alter(prev_hash) })),
  change("an altered byte of a hash", "hash", ({ hash }) => ({ hash: alter(hash) })),
  change("a body set to NULL", "missing", () => ({ body: null })),
  change("an altered last sequence", "sequence", ({ last_sequence }) => ({ last_sequence: last_sequence + 1 })),
  {
    ...{ what: "a row removed from the middle", broken: "link", named: 0 },
    harm: (sound, place) => sound.toSpliced(place, 1),
  },
  {
    ...{ what: "two rows swapped", broken: "link", named: 0 },
    harm: (sound, place) => sound.toSpliced(place, 2, sound[place + 1]!, sound[place]!),
  },
  {
    ...{ what: "a row doubled", broken: "link", named: 1 },
    harm: (sound, place) => sound.toSpliced(place, 0, sound[place]!),
  },
];

/** The rows that are changed: the first, one in the middle, and the last that has another behind it. */
const places = (): readonly number[] => [0, Math.floor(rows.length / 2), rows.length - 2];

/** Rows as somebody left them, and what a verifier says of them. */
interface Case {
  readonly damaged: readonly TurnRow[];
  readonly verdict: readonly Verdict[];
}

/** Expects the verifier to say of each case what it names, of the ledger as of the export. */
function expectVerdicts(verifier: Verifier, cases: readonly Case[]): void {
  const evidence = demo.lines.slice(rows.length);
  const files = cases.flatMap(({ damaged }) => [
    writeLedger(damaged),
    writeExport([...damaged.map(rowText), ...evidence]),
  ]);
  expect(verifyAll(verifier, files)).toEqual(cases.flatMap(({ verdict }) => [verdict, verdict]));
}

describe.each(verifiers)("the verifier in $language", (verifier) => {
  /** Without Python on this machine the tests of its verifier are skipped with this message. */
  const needed = (skip: (note: string) => void): void => {
    if (!verifier.isHere) skip(`${verifier.program} is not installed`);
  };

  it("accepts the ledger and the export of the demonstration, and prints the end of its stream", ({ skip }) => {
    needed(skip);
    const { stream, last_sequence: sequence, hash } = rows.at(-1)!;
    expect(verify(verifier, demo.file)).toEqual([{ stream, sequence, hash }]);
    expect(verify(verifier, writeExport(demo.lines))).toEqual([{ stream, sequence, hash }]);
  });

  it.for(goldenLedgers)(
    "accepts the golden ledger $release $file, as a ledger file and as an export",
    (golden, { skip }) => {
      needed(skip);
      const own = readRows(golden);
      const { stream, last_sequence: sequence, hash } = own.at(-1)!;
      const end = [{ stream, sequence, hash }];
      expect(verifyAll(verifier, [writeLedger(own), writeExport(composeEvidence(own, []))])).toEqual([end, end]);
    },
  );

  it("judges each of the streams that are mixed in a ledger by itself", ({ skip }) => {
    needed(skip);
    const other = readRows(goldenLedgers[0]!);
    const end = other.at(-1)!;
    const mixed = [...other.slice(0, 2), ...rows.toSpliced(1, 1), ...other.slice(2)];
    expect(verify(verifier, writeLedger(mixed))).toEqual([
      { stream: end.stream, sequence: end.last_sequence, hash: end.hash },
      { stream: rows[2]!.stream, sequence: rows[2]!.first_sequence, broken: "link" },
    ]);
  });

  it.for(damages)("names stream and sequence of $what, in a ledger and in an export", (damage, { skip }) => {
    needed(skip);
    const cases = places().map((place) => {
      const damaged = damage.harm(rows, place);
      const { stream, first_sequence: sequence } = damaged[place + damage.named]!;
      return { damaged, verdict: [{ stream, sequence, broken: damage.broken }] };
    });
    expectVerdicts(verifier, cases);
  });

  it("names each row of which an input or a recorded answer was altered, in a ledger and in an export", ({ skip }) => {
    needed(skip);
    const places = [...rows.entries()].flatMap(([place, { body }]) =>
      ['"inputs":[', '"answers":['].flatMap((member) => (body?.includes(member) === true ? [{ place, member }] : [])),
    );
    expect(places.some(({ member }) => member === '"answers":[')).toBe(true);
    const cases = places.map(({ place, member }) => {
      const row = rows[place]!;
      const text = row.body ?? "";
      const inside = text.indexOf(member) + member.length + 8;
      const body = `${text.slice(0, inside)}${alter(text.charAt(inside))}${text.slice(inside + 1)}`;
      const verdict = [{ stream: row.stream, sequence: row.first_sequence, broken: "body" }];
      return { damaged: rows.with(place, { ...row, body }), verdict };
    });
    expectVerdicts(verifier, cases);
  });

  it("names the end of an export that was cut, at whichever line, and an export without a line", ({ skip }) => {
    needed(skip);
    const { stream, last_sequence: sequence } = rows.at(-1)!;
    for (const kept of [rows.length, demo.lines.length - 1])
      expect(verify(verifier, writeExport(demo.lines.slice(0, kept)))).toEqual([{ stream, sequence, broken: "cut" }]);
    const withoutLast = demo.lines.toSpliced(rows.length - 1, 1);
    const before = { stream, sequence: rows.at(-2)!.last_sequence, broken: "hash" };
    expect(verify(verifier, writeExport(withoutLast))).toEqual([before]);
    expect(verify(verifier, writeExport([]))).toEqual([{ stream: "", sequence: 0, broken: "cut" }]);
  });

  it("names a line of evidence that was altered, and by its number a line that cannot be read", ({ skip }) => {
    needed(skip);
    const { stream, last_sequence: sequence } = rows.at(-1)!;
    const forged = demo.lines.with(-1, demo.lines.at(-1)!.replace('"rows":', '"rows":1'));
    expect(verify(verifier, writeExport(forged))).toEqual([{ stream, sequence, broken: "hash" }]);
    const unreadable = demo.lines.with(2, demo.lines[2]!.slice(1));
    expect(verify(verifier, writeExport(unreadable))).toEqual([
      { stream, sequence: rows[3]!.first_sequence, broken: "link" },
      { line: 3, broken: "format" },
    ]);
  });
});

const damagedColumns = ["envelope", "body", "body_hash", "prev_hash", "hash"] as const;

describe("the verifiers of the guide", () => {
  it("are short enough to read, and import nothing but what their language brings", () => {
    const script = pageFiles.get("verify-ledger.mjs") ?? "";
    expect(script.trimEnd().split("\n").length).toBeLessThanOrEqual(135);
    const imported = [...script.matchAll(/from "(.*)"/g)].map(([, name]) => name);
    expect(imported).toEqual(["node:crypto", "node:fs", "node:sqlite"]);
    const modules = [...(pageFiles.get("verify_ledger.py") ?? "").matchAll(/^import (\w+)$/gm)].map(([, name]) => name);
    expect(modules).toEqual(["datetime", "decimal", "hashlib", "json", "pathlib", "re", "sqlite3", "sys"]);
  });
});

/** A byte of a column of a row, and what it becomes. The offset is modulo the length. */
interface Alteration {
  readonly place: number;
  readonly column: (typeof damagedColumns)[number];
  readonly offset: number;
  readonly byte: number;
}

/** Returns the path of a copy of the demonstration's ledger with that byte altered. */
function alterAtRandom({ place, column, offset, byte }: Alteration): string {
  count += 1;
  const file = at(`random-${count}.db`);
  copyFileSync(demo.file, file);
  const row = rows[place]!;
  const text = row[column] ?? "";
  const i = offset % text.length;
  const altered = `${text.slice(0, i)}${String.fromCharCode(byte)}${text.slice(i + 1)}`;
  using database = new DatabaseSync(file);
  database.exec("DROP TRIGGER events_keep_on_update");
  database.prepare(`UPDATE events SET ${column} = ? WHERE first_sequence = ?`).run(altered, row.first_sequence);
  return file;
}

/** Returns what the kernel finds broken in a ledger, in the words of the verifiers. */
async function brokenByKernel(file: string): Promise<readonly Verdict[]> {
  const { broken } = await verifyWithKernel(file);
  return broken
    .filter(({ reason }) => reason !== "index")
    .map(({ stream, sequence, reason }) => ({ stream, sequence, broken: reason }));
}

describe("the verifiers and the kernel", () => {
  it("find the same break in a ledger whose bytes were altered at random", async () => {
    const bytes = fc.record({
      place: fc.nat(rows.length - 1),
      column: fc.constantFrom(...damagedColumns),
      offset: fc.nat(),
      byte: fc.integer({ min: 32, max: 126 }),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(bytes, { minLength: 5, maxLength: 5 }), async (drawn) => {
        const files = drawn.map(alterAtRandom);
        const byKernel = await Promise.all(files.map(brokenByKernel));
        for (const verifier of runnable) {
          const named = verifyAll(verifier, files).map((verdicts) => verdicts.filter(({ broken }) => broken));
          expect(named).toEqual(byKernel);
        }
      }),
      { numRuns: runs(4) },
    );
  });

  it("name the same row of an export of which any row was damaged in any of the ways above", async () => {
    const exports = damages.flatMap(({ harm }) =>
      places().map((place) => [...harm(rows, place).map(rowText), ...demo.lines.slice(rows.length)]),
    );
    const verdicts = verifyAll(verifiers[0]!, exports.map(writeExport));
    for (const [i, lines] of exports.entries()) {
      const [kernels] = (await verifyEvidence(lines)).broken;
      const [ours] = verdicts[i]!;
      expect(ours).toEqual({ stream: kernels?.stream, sequence: kernels?.sequence, broken: kernels?.reason });
    }
  });
});

describe("the queries of the guide", () => {
  it("list every event of a ledger, and who decided on what, with the payload that was shown", () => {
    using database = new DatabaseSync(demo.file, { readOnly: true });
    const events = database.prepare(pageFiles.get("list-events.sql") ?? "").all();
    expect(events.map(({ sequence }) => sequence)).toEqual(events.map((_, i) => i + 1));
    expect(events).toHaveLength(rows.at(-1)!.last_sequence);
    expect(events[0]).toMatchObject({ stream: rows[0]!.stream, type: "INTENT_RECEIVED", step: null });
    const decisions = database.prepare(pageFiles.get("who-approved.sql") ?? "").all();
    expect(decisions).toMatchObject([
      { workflow: rows[0]!.stream, decision: "USER_APPROVED", decided_by: "user", id: "local", operator: "File.Write" },
    ]);
    expect(JSON.parse(String(decisions[0]?.["payload"]))).toMatchObject({ path: "RELEASE_NOTES.md" });
  });
});
