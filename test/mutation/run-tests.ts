/**
 * Runs the given test files in the given order in the copy that it stands in, in one process of its own, and ends at the first failure if
 * asked. Says a word after each file, so that silence means that nothing goes on. Never: judges (the caller reads exit code and report).
 * Called as `node test/mutation/run-tests.ts PLAN`, a JSON file with `files`, `bail`, `report` and `cache`.
 */
import { readFileSync } from "node:fs";
import { relative } from "node:path";
import { BaseSequencer, startVitest, type TestSpecification } from "vitest/node";

export interface RunPlan {
  readonly files: readonly string[];
  /** How many failures end the run; 0 runs to the end. */
  readonly bail: number;
  /** Where vitest's JSON report goes. */
  readonly report: string;
  /** Where transformed modules are kept between runs. */
  readonly cache: string;
}

const plan = JSON.parse(readFileSync(process.argv[2] ?? "", "utf8")) as RunPlan;
const places = new Map(plan.files.map((file, index) => [file, index]));
const placeOf = ({ moduleId }: TestSpecification): number => places.get(relative(process.cwd(), moduleId)) ?? 0;

class PlannedOrder extends BaseSequencer {
  override sort = async (files: TestSpecification[]): Promise<TestSpecification[]> =>
    files.toSorted((a, b) => placeOf(a) - placeOf(b));
}

await startVitest("test", [...plan.files], {
  run: true,
  watch: false,
  bail: plan.bail,
  maxWorkers: 1,
  reporters: ["json", { onTestModuleEnd: ({ moduleId }) => void process.stdout.write(`${moduleId}\n`) }],
  outputFile: plan.report,
  sequence: { sequencer: PlannedOrder },
  fsModuleCache: true,
  fsModuleCachePath: plan.cache,
});
