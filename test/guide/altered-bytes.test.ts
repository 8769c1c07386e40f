/**
 * Damage that nobody covered up: bytes altered anywhere in an export or in a SQLite file, rows cut off, repeated and
 * moved. The guide's two verifiers and the kernel name it, or the file still holds the rows that it held.
 */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { rowText } from "../../src/contract/chain.ts";
import type { TurnRow, Verification } from "../../src/index.ts";
import { makeTempFolder } from "../fixtures.ts";
import { runs } from "../properties/property-runs.ts";
import { runnable, type Verdict, verifiers, verifyFiles, writeVerifiers } from "./guide-verifiers.ts";
import { verifyExport, verifyWithKernel } from "./kernel-verdicts.ts";
import { type DemoLedger, readStored, recordDemo, writeStored } from "./ledger-samples.ts";

const folder = makeTempFolder();
let demo: DemoLedger;
let rows: readonly TurnRow[] = [];

beforeAll(async () => {
  writeVerifiers(folder.path);
  mkdirSync(join(folder.path, "demo"));
  demo = await recordDemo(join(folder.path, "demo"));
  rows = readStored(demo.file);
});
afterAll(() => folder[Symbol.dispose]());

let count = 0;
function nextFile(extension: string): string {
  count += 1;
  return join(folder.path, `altered-${count}.${extension}`);
}

function writeBytes(bytes: Uint8Array, extension: string): string {
  const file = nextFile(extension);
  writeFileSync(file, bytes);
  return file;
}

const writeLines = (lines: readonly string[]): string =>
  writeBytes(Buffer.from(lines.map((line) => `${line}\n`).join("")), "jsonl");

/**
 * A byte at a place of a file, by its distance from the beginning modulo the size, and what is added to it modulo 256.
 */
interface Alteration {
  readonly place: number;
  readonly added: number;
}

const alterations = (least: number): fc.Arbitrary<readonly Alteration[]> =>
  fc.array(
    fc.record({
      place: fc.nat(),
      added: fc.oneof(fc.integer({ min: 1, max: 255 }), fc.constantFrom(1, 2, 4, 8, 16, 32, 64, 128)),
    }),
    {
      minLength: least,
      maxLength: 2 * least,
    },
  );

function alter(bytes: Uint8Array, { place, added }: Alteration): Uint8Array {
  const altered = Uint8Array.from(bytes);
  const at = place % bytes.length;
  altered[at] = ((bytes[at] ?? 0) + added) % 256;
  return altered;
}

/** What each of the verifiers says of each file. */
const judge = (files: readonly string[]): readonly (readonly (readonly Verdict[])[])[] =>
  runnable.map((verifier) => verifyFiles(verifier, folder.path, files));

/** Returns the broken streams that the verifiers name, in one order. */
const brokenOf = (verdicts: readonly Verdict[]): readonly string[] =>
  verdicts
    .flatMap(({ line, stream, sequence, broken }) => {
      if (broken === undefined) return [];
      return [line === undefined ? `${stream} ${sequence} ${broken}` : `line ${line} ${broken}`];
    })
    .toSorted();

/** Returns what the kernel finds broken in an export, in the words of the verifiers. */
async function brokenByKernel(file: string): Promise<readonly string[]> {
  const { broken } = await verifyExport(file);
  return broken
    .map(({ line, stream, sequence, reason }) =>
      stream === "(unreadable)" ? `line ${line} format` : `${stream} ${sequence} ${reason}`,
    )
    .toSorted();
}

describe("the verifiers that are compared", () => {
  it.for(verifiers.filter(({ isHere }) => !isHere))("leave out the one in $language", (verifier, { skip }) => {
    skip(`${verifier.program} is not installed`);
  });
  it("include the one in JavaScript", () => {
    expect(runnable.map(({ language }) => language)).toContain("JavaScript");
  });
});

describe("a byte that was altered in an export", () => {
  it("is named by the verifiers and by the kernel, wherever it stands", async () => {
    const bytes = readFileSync(writeLines(demo.lines));
    const size = Buffer.byteLength(demo.lines.slice(0, rows.length).join("\n"));
    await fc.assert(
      fc.asyncProperty(alterations(25), async (drawn) => {
        const files = drawn.map((one) => writeBytes(alter(bytes, one), "jsonl"));
        const [first = [], ...others] = judge(files);
        for (const other of others) expect(other).toEqual(first);
        for (const [i, verdicts] of first.entries()) {
          const what = JSON.stringify(drawn[i]);
          const byKernel = await brokenByKernel(files[i]!);
          expect(byKernel, what).not.toEqual([]);
          expect(brokenOf(verdicts), what).not.toEqual([]);
          // Of a line of evidence the kernel says more.
          if (drawn[i]!.place % bytes.length < size) expect(brokenOf(verdicts), what).toEqual(byKernel);
        }
      }),
      { numRuns: runs(4) },
    );
  });
});

/** Returns what any client of SQLite reads of the rows of a file; null where it reads none. */
function readAsClient(file: string): string | null {
  try {
    using database = new DatabaseSync(file, { readOnly: true });
    const columns = ["stream", "first_sequence", "last_sequence", "envelope", "body", "body_hash", "prev_hash", "hash"];
    const cells = columns.map((name) => `typeof(${name}) || hex(${name})`).join(" || ' ' || ");
    return JSON.stringify(database.prepare(`SELECT ${cells} AS row FROM events ORDER BY position`).all());
  } catch {
    return null;
  }
}

/** Returns what the kernel finds broken in a ledger file; null if it refuses to open or to read it. */
async function brokenInLedger(file: string): Promise<Verification["broken"] | null> {
  try {
    return (await verifyWithKernel(file)).broken;
  } catch {
    return null;
  }
}

describe("a byte that was altered in a SQLite ledger", () => {
  it("is named by the verifiers and by the kernel, unless every row is read as it was written", async () => {
    const bytes = readFileSync(demo.file);
    const written = readAsClient(demo.file);
    const met = new Set<string>();
    await fc.assert(
      fc.asyncProperty(alterations(25), async (drawn) => {
        const files = drawn.map((one) => writeBytes(alter(bytes, one), "db"));
        const isChanged = files.map((file) => readAsClient(file) !== written);
        const judged = judge(files);
        for (const [i, file] of files.entries()) {
          const broken = judged.map((found) => brokenOf(found[i]!));
          const what = JSON.stringify([drawn[i], broken]);
          met.add(isChanged[i] ? "changed" : "unchanged");
          // Damage that changes no row may be damage of the file.
          for (const named of broken)
            if (isChanged[i]) expect(named, what).not.toEqual([]);
            else expect([[], [" 0 file"]], what).toContainEqual(named);
          if (!isChanged[i]) continue;
          const byKernel = await brokenInLedger(file);
          expect(byKernel, what).not.toEqual([]);
          const rowsNamed = byKernel?.filter(({ reason }) => reason !== "index") ?? [];
          for (const { stream, sequence } of rowsNamed)
            for (const named of broken) expect(named.join(), what).toContain(`${stream} ${sequence} `);
        }
      }),
      { numRuns: runs(4) },
    );
    expect([...met].toSorted()).toEqual(["changed", "unchanged"]);
  });
});

describe("rows that were cut off, repeated or moved", () => {
  it("are named at every boundary of an export", async () => {
    const cuts = demo.lines.map((_, kept) => writeLines(demo.lines.slice(0, kept)));
    const [first = [], ...others] = judge(cuts);
    for (const other of others) expect(other).toEqual(first);
    for (const [kept, verdicts] of first.entries()) {
      const { stream = "", last_sequence: sequence = 0 } = rows[Math.min(kept, rows.length) - 1] ?? {};
      expect(verdicts).toEqual([{ stream, sequence, broken: "cut" }]);
      expect(await brokenByKernel(cuts[kept]!)).toEqual(brokenOf(verdicts));
    }
  });

  it("leave another end that the verifiers print, at every boundary of a ledger", () => {
    const kept = rows.map((_, i) => rows.slice(0, i + 1));
    const files = kept.map((some) => {
      const file = nextFile("db");
      writeStored(file, some);
      return file;
    });
    for (const found of judge(files)) expect(found).toEqual(kept.map((some) => [endOf(some)]));
  });

  it("are named where the first of them stands, in a ledger and in an export", async () => {
    const orders = fc.array(fc.nat(rows.length - 1), { minLength: 1, maxLength: rows.length + 2 });
    await fc.assert(
      fc.asyncProperty(fc.array(orders, { minLength: 10, maxLength: 20 }), async (drawn) => {
        const moved = drawn
          .map((order) => order.map((i) => rows[i]!))
          .filter((some) => some.some((row, i) => row !== rows[i]));
        const expected = moved.map((some) => {
          const { stream, first_sequence: sequence } = some.find((row, i) => row !== rows[i])!;
          return [{ stream, sequence, broken: "link" }];
        });
        const ledgers = moved.map((some) => {
          const file = nextFile("db");
          writeStored(file, some);
          return file;
        });
        const exports = moved.map((some) => writeLines([...some.map(rowText), ...demo.lines.slice(rows.length)]));
        for (const found of judge(ledgers)) expect(found).toEqual(expected);
        for (const found of judge(exports)) expect(found).toEqual(expected);
        for (const [i, file] of exports.entries()) expect(await brokenByKernel(file)).toEqual(brokenOf(expected[i]!));
      }),
      { numRuns: runs(10) },
    );
  });
});

function endOf(some: readonly TurnRow[]): Verdict {
  const { stream, last_sequence: sequence, hash } = some.at(-1)!;
  return { stream, sequence, hash };
}
