// Scenarios of which a replay must tell a difference, each with what it tells and why: the test has forged the record.
// One that replays alike, or tells something else, fails its test. Owns: the list.

export interface ExpectedDifference {
  /** The end of the test file's path. */
  readonly file: string;
  /** A part of the test's title. */
  readonly title: string;
  /** Codes of differences, or of what the replay is refused with. */
  readonly told: readonly string[];
  readonly reason: string;
}

const expected: readonly ExpectedDifference[] = [
  {
    file: "journey/ledger-service.test.ts",
    title: "each call returns the id",
    told: ["EVENT_MISSING"],
    reason: "the test writes a workflow's events by hand",
  },
  {
    file: "recovery/rest-and-wait.test.ts",
    title: "a fact that is appended later",
    told: ["EVENT_MISSING"],
    reason: "the test appends a fact that no input left",
  },
  {
    file: "pains/resume.test.ts",
    title: "pain 9: a payload that is not the one",
    told: ["EVENT_DIFFERS"],
    reason: "the test falsifies the ledger",
  },
  {
    file: "ledgers/forged-indexes.test.ts",
    title: "names a workflow that never was",
    told: ["T4_WORKFLOW_NOT_FOUND"],
    reason: "the test names a workflow in the index that has no rows",
  },
  {
    file: "policy/whatif.test.ts",
    title: "of an older kernel",
    told: ["EVENT_DIFFERS", "EVENT_MISSING"],
    reason: "the test takes members out of the recorded decisions",
  },
  {
    file: "ledgers/convert-ledger.test.ts",
    title: "writes the same events into a sound new ledger",
    told: ["EVENT_MISSING"],
    reason: "the rows of an earlier release recorded no inputs, and converted ones have none",
  },
  {
    file: "journey/old-records.test.ts",
    title: "are read by this kernel in every view",
    told: ["EVENT_MISSING"],
    reason: "the test writes a workflow's events by hand",
  },
];

export const expectedOf = (path: string, title: string): ExpectedDifference | null =>
  expected.find((one) => path.endsWith(one.file) && title.includes(one.title)) ?? null;

/** Tests that damage ledgers: a replay says so of those. */
const damaging = [
  "ledgers/damaged-rows.test.ts",
  "ledgers/damaged-indexes.test.ts",
  "ledgers/emptied-rows.test.ts",
  "notifiers/deliveries.test.ts",
];

export const isDamaging = (path: string): boolean => damaging.some((file) => path.endsWith(file));
