/**
 * The outside world of the simulation: a file with one line per effect. An effect that reached the file happened,
 * whatever became of the process that caused it.
 */
import { appendFileSync, existsSync, readFileSync } from "node:fs";

export interface EffectLine {
  readonly key: string;
  readonly operator: string;
  readonly step: string;
  readonly result: { readonly text: string };
}

export function readEffects(path: string): readonly EffectLine[] {
  if (!existsSync(path)) return [];
  return readFileSync(path, "utf8")
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as EffectLine);
}

export const recordEffect = (path: string, line: EffectLine): void => appendFileSync(path, `${JSON.stringify(line)}\n`);

/** How often each step of each operator took effect. */
export function countEffects(path: string): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const { operator, step } of readEffects(path))
    counts[`${operator} ${step}`] = (counts[`${operator} ${step}`] ?? 0) + 1;
  return Object.fromEntries(Object.entries(counts).sort());
}
