/**
 * Rows that nobody but a forger writes: under hashes that fit, a text is spelled otherwise than a kernel spells it, or
 * says what no kernel says. The guide's two verifiers and the kernel accept the same ones and refuse the same ones.
 */
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { TurnRow } from "../../src/index.ts";
import { makeTempFolder } from "../fixtures.ts";
import { runs } from "../properties/property-runs.ts";
import { goldenLedgers, readRows } from "../replay/golden-ledgers.ts";
import { type Forgery, streamOf, writeForgedExport, writeForgedLedger } from "./forged-rows.ts";
import { runnable, verifiers, verifyFiles, writeVerifiers } from "./guide-verifiers.ts";
import { verifyExport, verifyWithKernel } from "./kernel-verdicts.ts";

const folder = makeTempFolder();
const base: TurnRow = readRows(goldenLedgers[0]!)[0]!;
beforeAll(() => writeVerifiers(folder.path));
afterAll(() => folder[Symbol.dispose]());

const keep = (text: string): string => text;
/** Writes a JSON text as one more member of the payload of the row's first event. */
const member = (text: string): Forgery => ({
  envelope: keep,
  body: (body) => body.replace('"payload":{', () => `"payload":{"x":${text},`),
});
const body = (change: (text: string) => string): Forgery => ({ envelope: keep, body: change });
const envelope = (change: (text: string) => string): Forgery => ({ envelope: change, body: keep });
const row = (change: (row: TurnRow) => object): Forgery => ({ envelope: keep, body: keep, row: change });
const lenient = (forgery: Forgery): Forgery => ({ ...forgery, isLenient: true });

/** Every spelling of a number, and what is none. */
const numbers = [
  ...["NaN", "Infinity", "-Infinity", "1e400", "-1e400", "1E5", "1e5", "100000", "1e21", "1e+21", "1e+022"],
  ...["1000000000000000000000", "100000000000000000000", "1e-7", "0.0000001", "0.000001", "1.0", "1.50", "01", "-0"],
  ...["0", "-0.0", ".5", "5.", "+1", "0x10", "1_000", "123456789012345678901234567890", "12345678901234567000"],
  ...["12345678901234567890", "9007199254740993", "9007199254740992", "5e-324", "2e-324", "1.7976931348623157e+308"],
  ...["0.1", "0.30000000000000004", "0.3000000000000000444", "1e23", "9.999999999999999e+22", "-1.5e-10", "２"],
  ..."9".repeat(5000).match(/.+/g)!,
];

const texts = [
  ...['"A"', '"\\u0041"', '"/"', '"\\/"', '"\\ud800"', '"\\uD800"', '"\\udc00\\ud800"', '"\\ud83d\\ude00"', '"😀"'],
  ...['"\\u007f"', '"\u007f"', '"\\u2028"', '"\u2028"', '"\\b"', '"\\u0008"', '"\u0001"', '"\\u0001"', '"\\u001f"'],
  ...[
    '"\\u001F"',
    '"\\x41"',
    "'A'",
    '"\\n"',
    '"\n"',
    '"\t"',
    '"\\u00e9"',
    '"é"',
    '"e\u0301"',
    '"\\\\u0041"',
    '"\\"',
    '"',
  ],
  ...['"\\u0000"', '"\u0000"', '"\ufffd"', '"\\ufffd"', '"\ufeff"', '"\ud800"', '"\ud83d', '"\\u12"', '""'],
];

const structures = [
  ...["null", "nul", "true", "True", "undefined", "", "[]", "{}", "[1,]", "[,1]", '{"a":1,}', "[ 1]", "/**/1", "1 "],
  ...["\ufeff1", "\u00a01", "\f1", "\r\n1", '{"a":1,"a":2}', '{"a":1,"a":1}', '{"a":1,"\\u0061":2}', '{"\\u0061":2}'],
  ...['{"b":1,"1":2}', '{"1":2,"b":1}', '{"10":1,"9":1}', '{"9":1,"10":1}', '{"4294967295":1,"1":2}', '{"01":1,"1":2}'],
  ...['{"4294967294":1,"1":2}', '{"1":2,"4294967294":1}', '{"-1":1,"1":1}', '{"1":1,"-1":1}', '{"１":1,"1":2}'],
  ...['{"__proto__":1}', '{"__proto__":{"a":1},"__proto__":{}}', '{"toString":1}', "{a:1}", '{"a" :1}', '{"a":1 }'],
  ...[`${"[".repeat(1000)}${"]".repeat(1000)}`, `${"[".repeat(100_000)}${"]".repeat(100_000)}`],
];

/** Texts whose bytes are not UTF-8. A lenient decoder reads U+FFFD in them. */
const notUtf8 = [
  ...['"\ue0ff"', '"\ue080"', '"\ue0c0\ue0af"', '"\ue0ed\ue0a0\ue080"', '"\ue0ef\ue0bf"', '"\ue0f0\ue090\ue080"'],
  ...['"\ue0f4\ue090\ue080\ue080"', '"\ufffd\ue0ff"', '"\ue0e2\ue082', '{"\ue0ff":1}'],
];
const utf8 = ['"\ue0ef\ue0bf\ue0bd"', '"\ue0c3\ue0a9"', '"\ue0ef\ue0bb\ue0bf"', '"\ue0f4\ue08f\ue0bf\ue0bf"'];

const replaced = (from: string, ...values: readonly string[]): readonly Forgery[] =>
  values.map((value) => envelope((text) => text.replace(new RegExp(`"${from}":("[^"]*"|\\d+)`), `"${from}":${value}`)));

const envelopes: readonly Forgery[] = [
  ...replaced("v", "3", "3.0", "4", "true", '"3"', "null", "3e0"),
  ...replaced("first", "1.0", "true", '"1"', "null", "2", "1e0", "9".repeat(5000)),
  ...replaced("count", "1.0", "true", '"1"', "null", "0", "-1", "1e400", "NaN"),
  ...replaced("now", '"soon"', "5", "true", "null", '"2026"', '"2026-02-30T00:00:00.000Z"', '"2026-01-01T00:00:00Z"'),
  ...replaced("now", '"2024-02-29T00:00:00.000Z"', '"2025-02-29T00:00:00.000Z"', '"2026-01-01T24:00:00.000Z"'),
  ...replaced("now", '"2026-01-01T23:59:60.000Z"', '"2026-01-01T00:00:00.000+00:00"', '"2026-01-01T00:00:00.0000Z"'),
  ...replaced("now", '"2026-01-01T00:00:00.000Z "', '"２026-01-01T00:00:00.000Z"', '"2026-01-01T00:00:00.000Z\\n"'),
  ...replaced("stream", '"wf_other"', "5", "null"),
  envelope((text) => text.replace('"v":', '"v":3,"v":')),
  envelope((text) => text.replace('"first":', '"\\u0066irst":')),
  envelope((text) => text.replace(",", ", ")),
  ...["null", "[]", "5", '"text"', "{}", "", "{", "true"].map((text) => envelope(() => text)),
  ...numbers.map((text) => envelope((was) => was.replace('"count"', () => `"x":${text},"count"`))),
];

const bodies: readonly Forgery[] = [
  ...["null", "[]", "5", '"text"', "{}", "", '{"events":null}', '{"events":{}}', '{"events":[]}'].map((text) =>
    body(() => text),
  ),
  ...["null", "[]", "5", '"text"', "{}"].map((text) =>
    body((was) => was.replace(/\{"event_id"/, `${text},{"event_id"`)),
  ),
  body((text) => text.replace(/"event_id":"[^"]*"/, '"event_id":5')),
  body((text) => text.replace(/"type":"[^"]*"/, '"type":null')),
  body((text) => text.replace('"events":', '"events":[],"events":')),
  body((text) => text.replace('"events":', '"\\u0065vents":')),
  body((text) => text.replace('"payload":', '"payload":[],"was":')),
  body((text) => ` ${text}`),
  body((text) => `${text}\n`),
  body((text) => `\ufeff${text}`),
  body((text) => `${text}\u0000`),
  body((text) => text.replace('"inputs":', '"inputs":null,"was":')),
];

const rows: readonly Forgery[] = [
  row((was) => ({ ...was, first_sequence: true })),
  row((was) => ({ ...was, first_sequence: "1" })),
  row((was) => ({ ...was, last_sequence: String(was.last_sequence) })),
  row((was) => ({ ...was, last_sequence: null })),
  row((was) => ({ ...was, body: null })),
  row((was) => ({ ...was, body: 5 })),
  row((was) => ({ ...was, envelope: {} })),
  row((was) => ({ ...was, more: 1 })),
  row(({ hash: _, ...was }) => was),
  row(({ stream, ...was }) => ({ ...was, stream })),
];

/** Of each stream of a file: why it is broken; null for a sound one. */
type Reasons = readonly (string | null)[];

interface Named {
  readonly stream: string;
  readonly reason: string;
}

let count = 0;
function fileOf(extension: string): string {
  count += 1;
  return join(folder.path, `forged-${count}.${extension}`);
}

/** Returns the verdicts of the verifiers, which have to be the same, and refuse the streams that the kernel refuses. */
function judge(file: string, byKernel: readonly Named[], forgeries: readonly Forgery[]): Reasons {
  const [first = [], ...others] = runnable.map((verifier) => verifyFiles(verifier, folder.path, [file])[0]);
  for (const other of others) expect(other).toEqual(first);
  const reasons = new Map(first.map(({ stream, broken }) => [stream, broken ?? null]));
  const refused = new Map(byKernel.map(({ stream, reason }) => [stream, reason]));
  const judged = forgeries.map((_, i) => reasons.get(streamOf(i)) ?? null);
  const different = forgeries.flatMap((forgery, i) => {
    const kernel = refused.get(streamOf(i)) ?? null;
    if ((kernel === null) === (judged[i] === null)) return [];
    const [envelope, body] = [forgery.envelope(base.envelope), forgery.body(base.body ?? "")];
    return [{ kernel, verifiers: judged[i], text: `${envelope} ${body}`.slice(0, 2000) }];
  });
  expect(different).toEqual([]);
  return judged;
}

async function judgeLedger(forgeries: readonly Forgery[]): Promise<Reasons> {
  const file = fileOf("db");
  await writeForgedLedger(file, base, forgeries);
  const { broken } = await verifyWithKernel(file);
  return judge(
    file,
    broken.filter(({ reason }) => reason !== "index"),
    forgeries,
  );
}

async function judgeExport(forgeries: readonly Forgery[]): Promise<Reasons> {
  const file = fileOf("jsonl");
  writeForgedExport(file, base, forgeries);
  const { broken } = await verifyExport(file);
  return judge(file, broken, forgeries);
}

const judgeBoth = async (forgeries: readonly Forgery[]): Promise<readonly Reasons[]> => [
  await judgeLedger(forgeries),
  await judgeExport(forgeries),
];

/** Spellings of a number by which JavaScript, Python and SQLite give it, and others. */
const number = fc.oneof(
  fc
    .double()
    .chain((value) =>
      fc.constantFrom(
        `${value}`,
        value.toExponential(),
        value.toPrecision(17),
        value.toFixed(3),
        `${value}0`,
        `${value}e0`,
      ),
    ),
  fc.bigInt({ min: -(10n ** 25n), max: 10n ** 25n }).map(String),
  fc.stringMatching(/^-?[0-9]{1,25}(\.[0-9]{1,25})?([eE][-+]?[0-9]{1,3})?$/),
);
/** A text with escapes that are needed, and with others. */
const text = fc
  .array(
    fc.oneof(
      fc.string({ unit: "binary", maxLength: 2 }),
      fc.string({ unit: "binary", maxLength: 1 }).map((one) => JSON.stringify(one).slice(1, -1)),
      fc.integer({ min: 0, max: 0xffff }).map((code) => `\\u${code.toString(16).padStart(4, "0")}`),
      fc.constantFrom("\\n", "\\/", "\\", '"', "\u007f", "\ud800", "\ue0ff", "\ue0c3\ue0a9"),
    ),
    { maxLength: 4 },
  )
  .map((pieces) => `"${pieces.join("")}"`);
const name = fc.oneof(
  text,
  fc.nat().map((index) => `"${index}"`),
  fc.constantFrom('"a"', '"1"', '"01"', '"4294967295"', '"__proto__"'),
);
const { json } = fc.letrec<{ json: string; list: string; object: string }>((tie) => ({
  json: fc.oneof(
    { depthSize: "small" },
    ...[number, text, fc.constantFrom("null", "true", "false", "", "nan", " 1"), tie("list"), tie("object")],
  ),
  list: fc.array(tie("json"), { maxLength: 4 }).map((items) => `[${items.join()}]`),
  object: fc
    .array(fc.tuple(name, tie("json")), { maxLength: 5 })
    .map((members) => `{${members.map((pair) => pair.join(":")).join()}}`),
}));

describe("the guide's verifiers and the kernel", () => {
  it.for(verifiers.filter(({ isHere }) => !isHere))("are not compared in $language", (verifier, { skip }) => {
    skip(`${verifier.program} is not installed`);
  });

  it("accept the same spellings of numbers, texts and objects in a body, in a ledger and in an export", async () => {
    for (const judged of await judgeBoth([...numbers, ...texts, ...structures].map(member)))
      expect([null, "spelling", "format"].every((reason) => judged.includes(reason))).toBe(true);
  });

  it("accept the same JSON that is drawn at random, spelled in any way", async () => {
    const met = new Set<string | null>();
    await fc.assert(
      fc.asyncProperty(fc.array(json, { minLength: 50, maxLength: 100 }), async (members) => {
        for (const judged of await judgeBoth(members.map(member))) for (const reason of judged) met.add(reason);
      }),
      { numRuns: runs(5) },
    );
    expect([null, "spelling", "format"].every((reason) => met.has(reason))).toBe(true);
  });

  it("refuse bytes that are not UTF-8, even if the hash is that of a lenient decoder's text", async () => {
    const forged = notUtf8.map(member);
    for (const judged of [...(await judgeBoth(forged)), ...(await judgeBoth(forged.map(lenient)))])
      expect(judged).not.toContain(null);
    for (const judged of await judgeBoth(utf8.map(member))) expect(judged).toEqual(utf8.map(() => null));
  });

  it("accept the same envelopes, bodies and members of a row", async () => {
    await judgeLedger([...envelopes, ...bodies]);
    await judgeExport([...envelopes, ...bodies, ...rows]);
  });

  it("differ as the guide says in what the verifiers leave to the kernel: an unknown event type", async () => {
    const unknown = body((text) => text.replace(/"type":"[^"]*"/, '"type":"SOMETHING_ELSE"'));
    const file = fileOf("db");
    await writeForgedLedger(file, base, [unknown]);
    expect((await verifyWithKernel(file)).broken).toMatchObject([{ stream: streamOf(0), reason: "format" }]);
    for (const verifier of runnable)
      expect(verifyFiles(verifier, folder.path, [file])).toMatchObject([[{ stream: streamOf(0), sequence: 1 }]]);
  });
});
