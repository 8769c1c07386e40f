/**
 * Rows and exports that are changed in their structure, under hashes that fit or not: the guide's two verifiers and the
 * kernel give the same verdict, and name the same stream, sequence and reason.
 *
 * The kernel checks more (the page lists what): the type of an event, the state that follows from the events, and the
 * audit entries against the rows.
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { chainHash, genesisHash, rowText } from "../../src/contract/chain.ts";
import { sha256 } from "../../src/contract/digest.ts";
import type { TurnRow } from "../../src/index.ts";
import { sqliteLedger } from "../../src/ledger/sqlite/index.ts";
import { composeEvidence } from "../../src/tiers/t6-metacognition/compose-evidence.ts";
import { makeTempFolder } from "../fixtures.ts";
import { withStore } from "../ledgers/ledger-files.ts";
import { runs } from "../properties/property-runs.ts";
import { goldenLedgers, readRows } from "../replay/golden-ledgers.ts";
import { runnable, type Verdict, verifiers, verifyFiles, writeVerifiers } from "./guide-verifiers.ts";
import { verifyExport, verifyWithKernel } from "./kernel-verdicts.ts";
import { type Mutation, mutations } from "./mutated-json.ts";

const folder = makeTempFolder();
let forgedFiles: readonly string[] = [];
/** What each verifier says of each of the forged files. */
let forgedVerdicts: readonly (readonly (readonly Verdict[])[])[] = [];
beforeAll(() => {
  writeVerifiers(folder.path);
  forgedFiles = forgeries.map((forgery) => writeExport(forgeLines(forgery).join("\n")));
  forgedVerdicts = runnable.map((verifier) => verifyFiles(verifier, folder.path, forgedFiles));
});
afterAll(() => folder[Symbol.dispose]());

const all = readRows(goldenLedgers.find(({ file }) => file === "waiting.jsonl")!);
const reports = [{ report_id: "rep_1", report: { score: 1, notes: ["good"] } }];
const base = { rows: all, evidence: composeEvidence(all, reports).slice(all.length) };
type Lines = readonly string[];

/** Where a row or a line of evidence is changed, and whether the hashes from there on are made to fit. */
interface Damage {
  readonly part: "envelope" | "body" | "row" | "line";
  readonly place: number;
  readonly mutation: Mutation;
  readonly isResealed: boolean;
}

const damages: fc.Arbitrary<Damage> = fc.record({
  part: fc.constantFrom("envelope", "body", "row", "line"),
  place: fc.nat(),
  mutation: mutations,
  isResealed: fc.boolean(),
});

/** Returns the rows with one of their texts changed. If the hashes are made to fit, the rows are chained again. */
function forgeRows(rows: readonly TurnRow[], { part, place, mutation, isResealed }: Damage): readonly TurnRow[] {
  if (part !== "envelope" && part !== "body") return rows;
  const at = place % rows.length;
  const changed = rows.with(at, { ...rows[at]!, [part]: mutation(rows[at]![part] ?? "") });
  return isResealed ? chain(changed) : changed;
}

function chain(rows: readonly TurnRow[]): readonly TurnRow[] {
  let prev_hash = genesisHash;
  return rows.map((row) => {
    const body_hash = sha256(row.body ?? "");
    const hash = chainHash(prev_hash, row.envelope, body_hash);
    const chained = { ...row, body_hash, prev_hash, hash };
    prev_hash = hash;
    return chained;
  });
}

/** Returns lines of evidence that are chained to the last row; the closing line names it. */
function sealLines(evidence: Lines, { hash, last_sequence }: TurnRow): Lines {
  const head = `"head":${JSON.stringify({ sequence: last_sequence, hash })}`;
  return rehash(
    evidence.map((line) => line.replace(/"head":\{"sequence":\d+,"hash":"[0-9a-f]*"\}/, head)),
    hash,
  );
}

/** Returns lines of evidence that are chained to a row with this hash. */
function rehash(evidence: Lines, hash: string): Lines {
  let previous = hash;
  return evidence.map((line) => {
    const content = line.replace(/,"hash":"[^"]*"}$/, "}");
    previous = sha256(previous + content);
    return content.replace(/}$/, () => `,"hash":"${previous}"}`);
  });
}

/** Returns an export in which something is changed. */
function forgeExport(damage: Damage): Lines {
  const { part, place, mutation, isResealed } = damage;
  const rows = forgeRows(base.rows, damage);
  let evidence = isResealed ? sealLines(base.evidence, rows.at(-1)!) : base.evidence;
  if (part === "line") {
    const at = place % evidence.length;
    evidence = evidence.with(at, mutation(evidence[at]!));
    if (isResealed) evidence = sealLines(evidence, rows.at(-1)!);
  }
  const lines = [...rows.map(rowText), ...evidence];
  const at = place % rows.length;
  return part === "row" ? lines.with(at, mutation(lines[at]!)) : lines;
}

/** A forged part of an export, under hashes that fit, and what is said of it. */
interface Forgery {
  readonly what: string;
  readonly words: readonly string[];
  readonly body?: readonly [from: string | RegExp, to: string];
  readonly envelope?: readonly [from: string | RegExp, to: string];
  readonly closing?: readonly [from: string | RegExp, to: string];
  readonly report?: readonly [from: string | RegExp, to: string];
}

const nested = (levels: number): string => `${"[".repeat(levels)}${"]".repeat(levels)}`;
const { stream } = all[0]!;
const { first_sequence: lastRow, last_sequence: end } = all.at(-1)!;
const row = (reason: string): readonly string[] => [JSON.stringify([stream, 1, reason])];
const unreadable = (line: number, reason: string): readonly string[] =>
  [JSON.stringify([stream, end, reason]), JSON.stringify([line, "format"])].toSorted();
const closingLine = base.rows.length + base.evidence.length;
const reportLine = closingLine - 1;
const payload = (value: string): Forgery["body"] => ['"payload":{', `"payload":{"x":${value},`];

const forgeries: readonly Forgery[] = [
  { what: "2,500 levels in a body", words: [], body: payload(nested(2496)) },
  { what: "2,501 levels in a body", words: row("format"), body: payload(nested(2497)) },
  { what: "4,900 levels in a body", words: row("format"), body: payload(nested(4895)) },
  { what: "100,000 levels in a body", words: row("format"), body: payload(nested(99_995)) },
  { what: "2,500 levels in a report", words: [], report: ['"score":1', `"score":${nested(2498)}`] },
  {
    what: "2,501 levels in a report",
    words: unreadable(reportLine, "hash"),
    report: ['"score":1', `"score":${nested(2499)}`],
  },
  { what: "an unknown member of a body", words: row("format"), body: ['"events":', '"x":1,"events":'] },
  { what: "an unknown member of an event", words: row("format"), body: ['"payload":', '"x":1,"payload":'] },
  { what: "an unknown member of an envelope", words: row("format"), envelope: ['"first":', '"x":1,"first":'] },
  {
    what: "a number as correlation",
    words: row("format"),
    envelope: [/"correlation_id":"[^"]*"/, '"correlation_id":1'],
  },
  { what: "a list as type of an event", words: row("format"), body: [/"type":("[^"]*")/, '"type":[$1]'] },
  {
    what: "an unknown member of the closing line",
    words: unreadable(closingLine, "cut"),
    closing: ['"rows":', '"x":1,"rows":'],
  },
  {
    what: "an unknown member of the head",
    words: unreadable(closingLine, "cut"),
    closing: ['"head":{', '"head":{"x":1,'],
  },
  { what: "a list as kind of a line", words: unreadable(closingLine, "cut"), closing: ['"closing"', '["closing"]'] },
  { what: "the kind __proto__", words: unreadable(closingLine, "cut"), closing: ['"closing"', '"__proto__"'] },
  { what: "a count as text", words: unreadable(closingLine, "cut"), closing: [/"rows":(\d+)/, '"rows":"$1"'] },
  { what: "a wrong count", words: [JSON.stringify([stream, end, "closing"])], closing: ['"rows":', '"rows":1'] },
  {
    what: "a number as hash of the head",
    words: unreadable(closingLine, "cut"),
    closing: [/"hash":"[^"]*"\}(?=,)/, '"hash":1}'],
  },
  {
    what: "an unknown member of a report's line",
    words: unreadable(reportLine, "hash"),
    report: ['"report":', '"x":1,"report":'],
  },
];

function forgeLines({ body, envelope, closing, report }: Omit<Forgery, "words">): Lines {
  const change = (text: string, by: Forgery["body"]): string => (by === undefined ? text : text.replace(...by));
  const [first, ...others] = base.rows;
  const changed = { ...first!, body: change(first!.body ?? "", body), envelope: change(first!.envelope, envelope) };
  const rows = chain([changed, ...others]);
  const sealed = sealLines(base.evidence, rows.at(-1)!);
  const forged = [...sealed.slice(0, -2), change(sealed.at(-2)!, report), change(sealed.at(-1)!, closing)];
  return [...rows.map(rowText), ...rehash(forged, rows.at(-1)!.hash)];
}

/** What is done with the lines of an export as a whole. */
const shuffles: fc.Arbitrary<(lines: Lines) => string> = fc
  .record({
    from: fc.nat(),
    to: fc.nat(),
    how: fc.constantFrom("none", "none", "none", "none", "removed", "doubled", "moved", "foreign", "cut", "blank"),
    text: fc.constantFrom(
      "",
      " ",
      "\r",
      "\ufeff",
      "\u0000",
      "{}",
      "[]",
      "null",
      '{"stream":"wf_x"}',
      '{"evidence":"closing"}',
    ),
    end: fc.constantFrom("\n", "\n", "\n", "\n", "\r\n", "", "\n\n", "\u2028", "\n\ufeff"),
  })
  .map(({ from, to, how, text, end }) => (lines) => {
    const at = from % lines.length;
    const line = lines[at]!;
    const other = to % lines.length;
    const moved = {
      ...{ none: lines, removed: lines.toSpliced(at, 1), doubled: lines.toSpliced(other, 0, line) },
      ...{ moved: lines.toSpliced(at, 1).toSpliced(other, 0, line), cut: lines.slice(0, at) },
      ...{
        blank: lines.toSpliced(other, 0, text),
        foreign: lines.with(at, line.replace(/"stream":"[^"]*"/, '"stream":"wf_y"')),
      },
    }[how];
    return moved
      .map((one, i) => (i === moved.length - 1 ? one + end : `${one}${end === "\r\n" ? end : "\n"}`))
      .join("");
  });

let count = 0;
function fileOf(extension: string): string {
  count += 1;
  return join(folder.path, `mutated-${count}.${extension}`);
}

function writeExport(text: string): string {
  const file = fileOf("jsonl");
  writeFileSync(file, text);
  return file;
}

interface Named {
  readonly line?: number;
  readonly stream: string;
  readonly sequence: number;
  readonly reason: string;
}

/** What a verifier says of a broken stream, in one spelling. */
const spell = ({ line, stream, sequence, broken }: Verdict): string =>
  line === undefined ? JSON.stringify([stream, sequence, broken]) : JSON.stringify([line, broken]);

/** Returns the first break of each stream, in the words of the verifiers. Leaves out what the kernel alone checks. */
function wordsOfKernel(broken: readonly Named[]): readonly string[] {
  const streams = new Set<string>();
  return broken
    .filter(({ reason }) => !["audit", "signature", "fold", "index"].includes(reason))
    .flatMap(({ line, stream, sequence, reason }) => {
      if (stream === "(unreadable)") return [spell({ line: line ?? 0, broken: reason })];
      if (streams.has(stream)) return [];
      streams.add(stream);
      return [spell({ stream, sequence, broken: reason })];
    })
    .toSorted();
}

const wordsOf = (verdicts: readonly Verdict[]): readonly string[] =>
  verdicts
    .filter(({ broken }) => broken !== undefined)
    .map(spell)
    .toSorted();

const eventType = /"type":"(?:\\.|[^"\\])*"/g;
const typesIn = (text: string): readonly string[] => text.replaceAll('\\"', '"').match(eventType) ?? [];
const knownTypes = new Set(typesIn([...base.rows.map(rowText), ...base.evidence].join()));
/** Returns whether all types of events are such as the base has: the kernel alone knows which there are. */
const hasKnownTypes = (text: string): boolean => typesIn(text).every((type) => knownTypes.has(type));

describe("the guide's verifiers and the kernel", () => {
  it.for(verifiers.filter(({ isHere }) => !isHere))("are not compared in $language", (verifier, { skip }) => {
    skip(`${verifier.program} is not installed`);
  });

  it.for(forgeries.map((forgery, i) => ({ ...forgery, i })))("agree on an export with $what", async ({ i, words }) => {
    expect(wordsOfKernel((await verifyExport(forgedFiles[i]!)).broken)).toEqual(words);
    for (const found of forgedVerdicts) expect(wordsOf(found[i]!)).toEqual(words);
  });

  it("give the same verdict on exports that are changed in their structure", async () => {
    const met = new Set<string>();
    const drawn = fc.array(fc.tuple(damages, shuffles), { minLength: 60, maxLength: 60 });
    await fc.assert(
      fc.asyncProperty(drawn, async (cases) => {
        const texts = cases.map(([damage, shuffle]) => shuffle(forgeExport(damage))).filter(hasKnownTypes);
        const files = texts.map(writeExport);
        const judged = runnable.map((verifier) => verifyFiles(verifier, folder.path, files));
        for (const [i, file] of files.entries()) {
          const byKernel = wordsOfKernel((await verifyExport(file)).broken);
          for (const found of judged) expect(wordsOf(found[i]!), texts[i]).toEqual(byKernel);
          for (const word of byKernel) met.add(word.replace(/.*"(\w+)"\]$/, "$1"));
        }
      }),
      { numRuns: runs(2) },
    );
    expect(met.size).toBeGreaterThan(3);
  });

  it("name the row of a ledger whose sequence is larger than JavaScript can hold, and no other", async () => {
    const file = fileOf("db");
    await withStore(sqliteLedger({ path: file }), async () => undefined);
    insertRows(file, [...forgeStream(0), ...forgeStream(1)]);
    {
      using database = new DatabaseSync(file);
      database.exec("DROP TRIGGER events_keep_on_update");
      database.exec(
        `UPDATE events SET last_sequence = ${2n ** 60n} WHERE stream = 'wf_0' AND first_sequence = ${lastRow}`,
      );
    }
    const words = [JSON.stringify(["wf_0", lastRow, "sequence"])];
    expect(wordsOfKernel((await verifyWithKernel(file)).broken)).toEqual(words);
    for (const verifier of runnable) expect(wordsOf(verifyFiles(verifier, folder.path, [file])[0]!)).toEqual(words);
  });

  it("give the same verdict on rows that are changed in their structure in a ledger", async () => {
    const drawn = fc.array(damages, { minLength: 60, maxLength: 60 });
    await fc.assert(
      fc.asyncProperty(drawn, async (cases) => {
        const forged = cases
          .map((damage, i) => forgeStream(i, damage))
          .filter((rows) => hasKnownTypes(rows.map(({ body }) => body).join()));
        const file = fileOf("db");
        await withStore(sqliteLedger({ path: file }), async () => undefined);
        insertRows(file, forged.flat());
        const byKernel = wordsOfKernel((await verifyWithKernel(file)).broken);
        for (const verifier of runnable)
          expect(wordsOf(verifyFiles(verifier, folder.path, [file])[0]!)).toEqual(byKernel);
      }),
      { numRuns: runs(2) },
    );
  });
});

/** Returns the rows of a stream of its own, in which something may be changed. */
function forgeStream(nr: number, damage?: Damage): readonly TurnRow[] {
  const stream = `wf_${nr}`;
  const moved = base.rows.map((row) => ({ ...row, stream, envelope: row.envelope.replace(row.stream, stream) }));
  return damage === undefined ? chain(moved) : forgeRows(chain(moved), damage);
}

function insertRows(file: string, rows: readonly TurnRow[]): void {
  using database = new DatabaseSync(file);
  const insert = database.prepare("INSERT INTO events VALUES (?, ?, ?, ?, '1', ?, ?, ?, ?, ?)");
  for (const [i, row] of rows.entries()) {
    const { stream, first_sequence, last_sequence, envelope, body, body_hash, prev_hash, hash } = row;
    insert.run(i + 1, stream, first_sequence, last_sequence, envelope, body, body_hash, prev_hash, hash);
  }
}
