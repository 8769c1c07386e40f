/**
 * The figures of the lifecycle, each part in a process of its own: lists of calls and of children, sleeping workflows,
 * and schedules at rest. Environment: that of the parts (lists.ts, sleepers.ts, schedules.ts) but for COUNT.
 */
import { spawnSync } from "node:child_process";
import { join } from "node:path";

const parts = { lists: "10000", sleepers: "100000", schedules: "10000" };
for (const [part, count] of Object.entries(parts)) {
  const script = join(import.meta.dirname, `${part}.ts`);
  const env = { MS: "10000", ...process.env, COUNT: count };
  const { status } = spawnSync(process.execPath, ["--expose-gc", script], { env, stdio: "inherit" });
  if (status !== 0) process.exitCode = 1;
}
