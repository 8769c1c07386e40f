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
  {
    file: "gates/edits.test.ts",
    title: "a transform of the edited payload is what is shown",
    reason: "what a person typed and policy masked is in no ledger, so policy cannot be asked about it again",
  },
  {
    file: "gates/edits.test.ts",
    title: "that policy denies as an outcome",
    reason: "what a person typed and policy denied is in no ledger, so policy cannot be asked about it again",
  },
  ...["of an older kernel", "that lacks what a question needs", "policy_version"].map((title) => ({
    file: "policy/whatif.test.ts",
    title,
    reason: "the test writes another kernel's events by hand, or opens one ledger under several policies",
  })),
  {
    file: "policy/newer-set.test.ts",
    reason: "the test opens one ledger under several policies",
  },
  ...["for want of", "no longer valid", "needs nothing that could run"].map((title) => ({
    file: "gates/runnable.test.ts",
    title,
    reason: "one ledger is opened by processes that have registered other versions",
  })),
  {
    file: "gates/basis.test.ts",
    title: "changed while no process ran",
    reason: "a process ends with a call under way, and the first that the next one notes is of another step",
  },
  {
    file: "gates/seats.test.ts",
    title: "decides nothing once the gate asks others",
    reason: "the rule answers when the gate asks others already: a replay asks when the answer was noted",
  },
  ...["in the next process", "of the last process"].map((title) => ({
    file: "routing/kernel.test.ts",
    title,
    reason: "one ledger is opened under several plans of one version of a package",
  })),
  ...["of params that", "at stage gate", "a scorer of confidence", "a scorer of grounding"].map((title) => ({
    file: "bad-input/host-code.test.ts",
    title,
    reason: "the host's function fails the first time only: it is not a function of its question",
  })),
  ...["supervision", "tier-removal"].map((name) => ({
    file: `actors/${name}.test.ts`,
    reason: "the test replaces a tier by one that crashes or is not there; a replay has the real ones",
  })),
  {
    file: "actors/tool-calls.test.ts",
    title: "of the version that the step was planned with",
    reason:
      "another version of the operator is registered while the workflow waits; a replay has both from the beginning",
  },
  {
    file: "actors/doors.test.ts",
    title: "given to its door again",
    reason: "Signals of other runs are sent to the doors by hand, and begin workflows that never were",
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
  ...["taken once per key", "follows the first of many"].map((title) => ({
    file: "invariants/effects.test.ts",
    title,
    reason: "one person decides one gate several times at once: the ledger says what held, not which request was which",
  })),
  {
    file: "sim/crash-loop.test.ts",
    reason: "processes die between the rows of one step's end, which a replay cannot tell from going on",
  },
  {
    file: "recovery/rest-and-wait.test.ts",
    title: "could not be folded again here",
    reason: "the kernel that is asked has not registered what another one ran",
  },
];

export const exclusionOf = (path: string, title: string): string | null =>
  exclusions.find((one) => path.endsWith(one.file) && title.includes(one.title ?? ""))?.reason ?? null;
