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
    file: "recovery/rest-and-wait.test.ts",
    title: "could not be folded again here",
    reason: "the kernel that is asked has not registered what another one ran",
  },
];

export const exclusionOf = (path: string, title: string): string | null =>
  exclusions.find((one) => path.endsWith(one.file) && title.includes(one.title ?? ""))?.reason ?? null;
