/**
 * Which blocks a test file enters. Runs in the instrumented copy only, where every test file begins by calling
 * `recordHits` and every block of a source calls `__hit`. Owns: one file of block names for each test file. Never:
 * stands in the checkout.
 */
import { writeFileSync } from "node:fs";
import { afterAll } from "vitest";

/** From now on, what is entered counts for this test file; written into `file` once its tests have run. */
export function recordHits(file: string): void {
  const hits = new Set<string>();
  Object.assign(globalThis, { __hit: (block: string) => void hits.add(block) });
  afterAll(() => writeFileSync(file, JSON.stringify([...hits])));
}
