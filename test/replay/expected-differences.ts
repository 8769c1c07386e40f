// Scenarios of which a replay must tell a difference, each with what it tells and why: the host's own rules are others by then,
// or the test has forged the record. One that replays alike, or tells something else, fails its test.

export interface ExpectedDifference {
  /** The end of the test file's path. */
  readonly file: string;
  /** A part of the test's title. */
  readonly title: string;
  /** Codes of differences, or of what the replay is refused with. */
  readonly told: readonly string[];
  readonly reason: string;
}

const changed: readonly Omit<ExpectedDifference, "told">[] = [
  ...[
    "keeps the versions that it began with",
    "finds just what a decision is refused with",
    "offers an edit where",
  ].map((title) => ({
    file: "journey/versions.test.ts",
    title,
    reason: "another version is registered by then",
  })),
  {
    file: "policy/whatif.test.ts",
    title: "nor what policy saw of a changed edit",
    reason: "one ledger is opened under several policies",
  },
  ...["for want of the operator of a later step", "no longer valid", "needs nothing that could run"].map((title) => ({
    file: "gates/runnable.test.ts",
    title,
    reason: "another version of the package is registered by then",
  })),
  {
    file: "policy/denied-again.test.ts",
    title: "is not repeated by a plain retry",
    reason: "the rule allows by then what it has denied",
  },
  {
    file: "gates/runnable.test.ts",
    title: "would let through, where the operator is not known",
    reason: "another policy is in force by then",
  },
  ...["of params that", "at stage gate", "a scorer of confidence", "a scorer of grounding"].map((title) => ({
    file: "bad-input/host-code.test.ts",
    title,
    reason: "the host's function fails the first time only",
  })),
  {
    file: "actors/tool-calls.test.ts",
    title: "of the version that the step was planned with",
    reason: "another version of the operator is registered while the workflow waits",
  },
  {
    file: "execution/references.test.ts",
    title: "where the plan function says something else",
    reason: "the package's plan function says something else each time",
  },
  ...["stands in the next process", "of the last process, and two calls at once"].map((title) => ({
    file: "routing/kernel.test.ts",
    title,
    reason: "another package of the same name and version is registered by then",
  })),
  {
    file: "policy/newer-set.test.ts",
    title: "that the policy before had allowed",
    reason: "it went on under another policy",
  },
  ...[
    { file: "gates/policy-meanwhile.test.ts", title: "two decisions on a gate of an earlier policy" },
    { file: "policy/before-the-call.test.ts", title: "is judged by that before its first call" },
  ].map((scenario) => ({ ...scenario, reason: "another policy is in force by then" })),
  {
    file: "execution/budget.test.ts",
    title: "while others spent what was left makes no call",
    reason: "a request may cost more by then",
  },
  {
    file: "recovery/durability.test.ts",
    title: "of an operator that has an effect since the plan was made",
    reason: "another version of the operator is registered by then",
  },
  {
    file: "gates/persons.test.ts",
    title: "turn out to be one person",
    reason: "the host's directory says more by then",
  },
  {
    file: "execution/retries.test.ts",
    title: "a pause that has ended ends once",
    reason: "the host's check waits for the test's clock",
  },
  ...["drafts what its first run had called", "takes a draft as a person left it"].map((title) => ({
    file: "replay/run-again.test.ts",
    title,
    reason: "the host's rule is another one by the second run",
  })),
  {
    file: "actors/tier-removal.test.ts",
    title: "is not done without T3",
    reason: "the test leaves out the planning tier; a replay has it",
  },
];

const forged: readonly ExpectedDifference[] = [
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
];

const expected: readonly ExpectedDifference[] = [
  ...changed.map((one) => ({ ...one, told: ["EVENT_DIFFERS", "EVENT_MISSING"] })),
  ...forged,
];

export const expectedOf = (path: string, title: string): ExpectedDifference | null =>
  expected.find((one) => path.endsWith(one.file) && title.includes(one.title)) ?? null;

/** Tests that damage ledgers: a replay says so of those. */
const damaging = ["ledgers/damaged-rows.test.ts", "ledgers/damaged-indexes.test.ts", "notifiers/deliveries.test.ts"];

export const isDamaging = (path: string): boolean => damaging.some((file) => path.endsWith(file));
