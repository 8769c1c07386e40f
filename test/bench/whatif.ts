/**
 * npm run bench:whatif: a stricter policy set over many workflows of a ledger file. The decisions it lists must be
 * those that a direct evaluation of every question found while they ran. Prints one JSON line; exits 1 where the two
 * disagree.
 *
 * Environment: WORKFLOWS (10000).
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sqliteLedger } from "../../src/ledger/sqlite/index.ts";
import { compareWhatIf } from "../policy/many-workflows.ts";

const workflows = Number(process.env["WORKFLOWS"] ?? 10_000);
const folder = mkdtempSync(join(tmpdir(), "countersign-whatif-"));
try {
  const ledger = sqliteLedger({ path: join(folder, "whatif.db") });
  const began = performance.now();
  const { told, direct, report, whatIfMs } = await compareWhatIf({ workflows, ledger, now: () => performance.now() });
  const same = told.length === direct.length && told.every((line, i) => line === direct[i]);
  console.log(
    JSON.stringify({
      what: "what if",
      node: process.version,
      ...report,
      direct: direct.length,
      same_list: same,
      run_s: Number(((performance.now() - began - whatIfMs) / 1000).toFixed(2)),
      what_if_s: Number((whatIfMs / 1000).toFixed(2)),
      workflows_per_s: Math.round((1000 * workflows) / whatIfMs),
    }),
  );
  process.exitCode = same ? 0 : 1;
} finally {
  rmSync(folder, { recursive: true, force: true });
}
