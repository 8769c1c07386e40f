// Scenarios whose workflows cannot be replayed, each with its reason.

interface Exclusion {
  /** The end of the test file's path. */
  readonly file: string;
  /** A part of the test's title; without one the whole file. */
  readonly title?: string;
  readonly reason: string;
}

const exclusions: readonly Exclusion[] = [
  {
    file: "gates/edits.test.ts",
    title: "a rule is not asked to change it again",
    reason: "the rule counts how often it was asked: it is not a function of its question",
  },
  ...["of an older kernel", "that lacks what a question needs"].map((title) => ({
    file: "policy/whatif.test.ts",
    title,
    reason: "the test writes another kernel's events by hand, or opens one ledger under several policies",
  })),
  ...["for want of", "no longer valid", "needs nothing that could run"].map((title) => ({
    file: "gates/runnable.test.ts",
    title,
    reason: "one ledger is opened by processes that have registered other versions",
  })),
  ...["of params that", "at stage gate", "a scorer of confidence", "a scorer of grounding"].map((title) => ({
    file: "bad-input/host-code.test.ts",
    title,
    reason: "the host's function fails the first time only: it is not a function of its question",
  })),
  ...["of tier 3 in data:PlanRequest", "of a tier escalates"].map((title) => ({
    file: "actors/supervision.test.ts",
    title,
    reason: "the test replaces the planning tier by one that crashes; a replay has the real one",
  })),
  {
    file: "actors/tier-removal.test.ts",
    title: "is not done without T3",
    reason: "the test leaves out the planning tier; a replay has it",
  },
  {
    file: "actors/tool-calls.test.ts",
    title: "of the version that the step was planned with",
    reason:
      "another version of the operator is registered while the workflow waits; a replay has both from the beginning",
  },
  {
    file: "journey/ledger-service.test.ts",
    title: "each call returns the id",
    reason: "the test writes a workflow's events by hand",
  },
  {
    file: "recovery/rest-and-wait.test.ts",
    title: "a fact that is appended later",
    reason: "the test appends a fact by hand that no input left",
  },
  ...["where the plan function says something else", "asked for twice only where"].map((title) => ({
    file: "execution/references.test.ts",
    title,
    reason: "the package's plan function says something else each time, or counts how often it was asked",
  })),
  {
    file: "pains/resume.test.ts",
    title: "pain 9: a payload that is not the one",
    reason: "the test falsifies the ledger, which is what its replay finds",
  },
  {
    file: "pains/records.test.ts",
    title: "asks the machine for neither time nor chance",
    reason: "the test traps the machine's timers, by which a replay limits a host's rule that gives no answer",
  },
  {
    file: "recovery/rest-and-wait.test.ts",
    title: "could not be folded again here",
    reason: "the kernel that is asked has not registered what another one ran",
  },
];

export const exclusionOf = (path: string, title: string): string | null =>
  exclusions.find((one) => path.endsWith(one.file) && title.includes(one.title ?? ""))?.reason ?? null;
