/**
 * Runs the given test files in the given order in the copy that it stands in, in one process of its own, and ends at
 * the first failure if asked. Says a word after each file, so that silence means that nothing goes on. Never: judges
 * (the caller reads exit code and report). Called as `node test/mutation/run-tests.ts PLAN`, a JSON file with `files`,
 * `bail` and `report`.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { relative } from "node:path";
import { BaseSequencer, type Reporter, startVitest, type TestSpecification } from "vitest/node";

export interface RunPlan {
  readonly files: readonly string[];
  /** How many failures end the run; 0 runs to the end. */
  readonly bail: number;
  /** Where the ends of the files go, as a JSON list of `FileEnd`. */
  readonly report: string;
}

/** How a test file ended. One that was not reached has no end. */
export interface FileEnd {
  readonly path: string;
  readonly passed: boolean;
  readonly took_ms: number;
}

const plan = JSON.parse(readFileSync(process.argv[2] ?? "", "utf8")) as RunPlan;
const places = new Map(plan.files.map((file, index) => [file, index]));
const placeOf = ({ moduleId }: TestSpecification): number => places.get(relative(process.cwd(), moduleId)) ?? 0;

class PlannedOrder extends BaseSequencer {
  override sort = async (files: TestSpecification[]): Promise<TestSpecification[]> =>
    files.toSorted((a, b) => placeOf(a) - placeOf(b));
}

const ends: FileEnd[] = [];
const told: Reporter = {
  onTestModuleEnd(module) {
    const { duration, collectDuration, setupDuration } = module.diagnostic();
    const path = relative(process.cwd(), module.moduleId);
    const took_ms = Math.round(duration + collectDuration + setupDuration);
    ends.push({ path, passed: module.ok(), took_ms });
    process.stdout.write(`${path}\n`);
  },
};

await startVitest("test", [...plan.files], {
  run: true,
  watch: false,
  bail: plan.bail,
  maxWorkers: 1,
  reporters: [told],
  sequence: { sequencer: PlannedOrder },
});
writeFileSync(plan.report, JSON.stringify(ends));
