/**
 * Every property of every test: its seed from the environment, shrinking bounded in time, and how to repeat what
 * failed.
 * Owns: what fast-check is told globally. A test that says how often its property runs says it by `runs`.
 */
import fc from "fast-check";
import { expect } from "vitest";
import { propertySeed, runs } from "./property-runs.ts";

/** Below the limit of a test, which would end it without telling the seed. */
const longestMs = 80_000;

const describeHowToRepeat: fc.Plugin<unknown> = () => ({
  onAllRunsComplete(details) {
    if (!details.failed) return;
    const { testPath = "", currentTestName = "" } = expect.getState();
    const repeat = `FC_SEED=${details.seed} npx vitest run ${testPath} -t ${JSON.stringify(currentTestName)}`;
    throw new Error(`${fc.defaultReportMessage(details)}\n\nRepeat: ${repeat}`, { cause: details.errorInstance });
  },
});

// Read once for each test file, though files share fast-check: what is installed stays.
if (fc.readConfigureGlobal().numRuns === undefined) {
  fc.installGlobalPlugin(fc.interruptAfterTimeLimit(longestMs));
  fc.installGlobalPlugin(describeHowToRepeat);
}
fc.configureGlobal({ ...(propertySeed === undefined ? {} : { seed: propertySeed }), numRuns: runs(100) });
