// Subjects of three real repositories, and the kind that a reader gives each: what changes the words must keep.

import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { classifyCommits } from "../../src/packages/capabilities/release-notes/classify.ts";

const lines = readFileSync(new URL("real-subjects.tsv", import.meta.url), "utf8")
  .trimEnd()
  .split("\n")
  .slice(1)
  .map((line) => line.split("\t") as [repository: string, kind: string, subject: string]);

it("subjects of p-queue, hono and xstate are of the kind that a reader sees in them", () => {
  const commit = { hash: "a".repeat(40), short: "aaaaaaa", author: "Ada", date: "2026-01-02", body: "", parents: [] };
  const told = lines.map(([repository, , subject]) => [
    repository,
    classifyCommits([{ ...commit, subject }])[0]?.kind,
    subject,
  ]);
  expect(told).toEqual(lines);
});
