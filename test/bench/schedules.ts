/**
 * Schedules at rest: makes so many on one ledger file, none of which falls due, and measures the processor time of the
 * process for so long. Environment: COUNT (10,000), MS (30,000).
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { z } from "zod";
import { createKernel, defineCapability, defineOperator } from "../../src/index.ts";
import { sqliteLedger } from "../../src/ledger/sqlite/index.ts";

const count = Number(process.env["COUNT"] ?? 10_000);
const ms = Number(process.env["MS"] ?? 30_000);
const act = defineOperator({ name: "Test.Act", input: z.looseObject({}), run: () => "done" });
const job = defineCapability({
  intentType: "Test.Job",
  version: "1.0",
  input: z.looseObject({}),
  operators: [act],
  plan: { reasoning: "act", steps: [{ step_id: "act", name: "Act", operator: "Test.Act" }] },
});
const folder = mkdtempSync(join(tmpdir(), "countersign-schedules-"));
const kernel = await createKernel({ ledger: sqliteLedger({ path: join(folder, "ledger.db") }), capabilities: [job] });

const setAt = performance.now();
for (let n = 0; n < count; n += 1)
  await kernel.setSchedule({
    tenant_id: n % 10,
    principal: { type: "user", id: "ann", role: "user" },
    name: `s${n}`,
    cron: `${n % 60} ${(new Date().getUTCHours() + 12) % 24} * * *`,
    intent_type: "Test.Job",
  });
const settingMs = performance.now() - setAt;

await pause(1_000);
const from = process.cpuUsage();
const began = performance.now();
await pause(ms);
const used = process.cpuUsage(from);
const percent = (100 * (used.user + used.system)) / 1_000 / (performance.now() - began);
const timers = kernel.vitals().timers;
await kernel.stop();
rmSync(folder, { recursive: true });
console.log(JSON.stringify({ schedules: count, ms_each_to_set: settingMs / count, timers, cpu_percent: percent }));
