/**
 * The published JSON Schemas describe what the kernel writes. After a change: `npx vitest run
 * test/guide/schemas.test.ts -u`.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Ajv2020 } from "ajv/dist/2020.js";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { EvidenceLine } from "../../src/contract/evidence.ts";
import { openTurn, type TurnRow } from "../../src/contract/turn.ts";
import type { TurnCause, TurnInput } from "../../src/contract/turn-input.ts";
import { composeEvidence } from "../../src/tiers/t6-metacognition/compose-evidence.ts";
import { makeTempFolder } from "../fixtures.ts";
import { runs } from "../properties/property-runs.ts";
import { goldenLedgers, readRows } from "../replay/golden-ledgers.ts";
import { playStory } from "../sim/play-story.ts";
import { draws } from "../sim/story.ts";
import { root } from "../tidy/source-files.ts";
import { recordDemo } from "./ledger-samples.ts";
import { makeSchemas, printSchema } from "./make-schemas.ts";

const folder = "src/guide/schemas";
const names = ["ledger-row.json", "ledger-event.json", "export-evidence.json"] as const;

const ajv = new Ajv2020({ strict: false, validateFormats: false, allErrors: true });
for (const name of names) ajv.addSchema(JSON.parse(readFileSync(join(root, folder, name), "utf8")));

/** Returns what a schema finds wrong with a value, by place. */
function faultsOf(schema: string, value: unknown): readonly string[] {
  if (ajv.validate(schema, value)) return [];
  return (ajv.errors ?? []).map(({ instancePath, message, params }) => {
    return `${schema} ${instancePath} ${message} ${JSON.stringify(params)}`;
  });
}

/** Returns what the schemas find wrong with a row, with its two texts, and with each event as readers see it. */
const faultsOfRow = (row: TurnRow): readonly string[] => [
  ...faultsOf("ledger-row.json", row),
  ...faultsOf("ledger-row.json#/$defs/envelope", JSON.parse(row.envelope)),
  ...faultsOf("ledger-row.json#/$defs/body", JSON.parse(row.body ?? "null")),
  ...openTurn(row).flatMap((event) => faultsOf("ledger-event.json", event)),
];

const inputsOf = (row: TurnRow): readonly TurnInput[] =>
  (JSON.parse(row.body ?? "{}") as Partial<TurnCause>).inputs ?? [];

describe("the JSON Schemas of the ledger", () => {
  it("are those that the contract gives", async () => {
    const made = makeSchemas();
    expect(Object.keys(made)).toEqual(names);
    expect(readdirSync(join(root, folder)).toSorted()).toEqual(names.toSorted());
    for (const [name, schema] of Object.entries(made))
      await expect(printSchema(schema)).toMatchFileSnapshot(join(root, folder, name));
  });

  it.each(goldenLedgers)("accept each row and each event of the golden ledger $release $file", (golden) => {
    expect(readRows(golden).flatMap(faultsOfRow)).toEqual([]);
  });

  it("accept each row, each event and each line of evidence of stories that are drawn at random", async () => {
    const met = new Set<string>();
    const told: string[] = [];
    const drawn = fc.record({ store: fc.constantFrom("any", "postgres-like", "power-cut"), seed: fc.nat(1_000_000) });
    await fc.assert(
      fc.asyncProperty(drawn, async ({ store, seed }) => {
        const { world } = await playStory(draws[store](seed));
        for (const row of world.kept) {
          told.push(...faultsOfRow(row));
          for (const { in: kind, answers } of inputsOf(row))
            met.add(kind).add(answers === undefined ? kind : "answers");
        }
        const streams = Map.groupBy(world.kept, ({ stream }) => stream);
        for (const rows of streams.values())
          for (const line of composeEvidence(rows, []).slice(rows.length))
            told.push(...faultsOf("export-evidence.json", JSON.parse(line)));
        expect(told).toEqual([]);
      }),
      { numRuns: runs(15) },
    );
    for (const kind of ["begin", "ended", "decided", "answered", "answers"]) expect(met).toContain(kind);
  });

  it("accept each row, each event and each line of evidence that the demonstration leaves", async () => {
    using folder = makeTempFolder();
    const { lines } = await recordDemo(folder.path);
    const found = lines.map((line) => JSON.parse(line) as TurnRow | EvidenceLine);
    const rows = found.flatMap((line) => ("evidence" in line ? [] : [line]));
    const evidence = found.filter((line) => "evidence" in line);
    expect([rows.length > 5, evidence.length > 1]).toEqual([true, true]);
    expect(rows.flatMap(faultsOfRow)).toEqual([]);
    expect(evidence.flatMap((line) => faultsOf("export-evidence.json", line))).toEqual([]);
  });

  it("refuse an unknown member, the payload of another type, and a missing member that has no default", () => {
    const event = { event_id: "evt_1", type: "STEP_STARTED", payload: { run: 1 } };
    const faults = (change: object): readonly string[] =>
      faultsOf("ledger-row.json#/$defs/body", { events: [{ ...event, ...change }] });
    expect(faults({ event_id: "evt_01KDVDNA0047C4FEZDQK8Z0000" })).toEqual([]);
    expect(faults({ payload: { run: 1, walk: 2 } }).join()).toContain('"additionalProperty":"walk"');
    expect(faults({ type: "STEP_QUEUED" }).join()).toContain('"missingProperty":"operator"');
    expect(faults({ payload: {} }).join()).toContain('"missingProperty":"run"');
  });
});
