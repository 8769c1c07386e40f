// Scenarios whose workflows cannot be replayed, each with its reason.

interface Exclusion {
  /** The end of the test file's path. */
  readonly file: string;
  /** A part of the test's title; without one the whole file. */
  readonly title?: string;
  readonly reason: string;
}

const exclusions: readonly Exclusion[] = [];

export const exclusionOf = (path: string, title: string): string | null =>
  exclusions.find((one) => path.endsWith(one.file) && title.includes(one.title ?? ""))?.reason ?? null;
