/** The server of bench:streams and soak:connections, in a process of its own: one busy workflow, and what it costs. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { z } from "zod";
import { createHttpApp, serveHttp } from "../../src/faces/http/index.ts";
import { createKernel, defineCapability, defineOperator } from "../../src/index.ts";
import { sqliteLedger } from "../../src/ledger/sqlite/index.ts";
import { countingLedger } from "../streams/counting-ledger.ts";
import { answerParent, measureMemory } from "./in-child.ts";

const caller = { tenant_id: 1, principal: { type: "user", id: 1, role: "user" } } as const;
const folder = mkdtempSync(join(tmpdir(), "countersign-streams-"));

/** Says so many words; the loop turns between two, so that each is a commit. */
const speak = defineOperator({
  name: "Bench.Speak",
  input: z.object({ words: z.int() }),
  timeoutSec: 600,
  async run({ input: { words }, stream }) {
    for (let i = 0; i < words; i += 1) {
      stream(`word ${i} of a sentence that goes on `);
      await new Promise<void>((resolve) => setTimeout(resolve, 1));
    }
    return { said: words };
  },
});
const talk = defineCapability({
  intentType: "Bench.Talk.Run",
  version: "1.0",
  input: z.object({ words: z.int() }),
  operators: [speak],
  plan: ({ input }) => ({
    reasoning: "bench",
    steps: [{ step_id: "speak", name: "Speak", operator: "Bench.Speak", params: input, gate: { reason: "begin" } }],
  }),
});

const { store, counts } = countingLedger(sqliteLedger({ path: join(folder, "kernel.db") }));
const kernel = await createKernel({ ledger: store, capabilities: [talk] });
const limits = { maxStreams: 20_000, maxStreamsPerCaller: 20_000 };
const app = createHttpApp(kernel, { tokens: [{ token: "bench", ...caller }], limits });
const { url } = await serveHttp(app, { port: 0 });
const delay = monitorEventLoopDelay({ resolution: 1 });
let before = { at: 0, cpu: process.cpuUsage(), reads: 0, commits: 0 };

answerParent({
  url: () => url,
  /** A workflow that waits for its gate; then it speaks. */
  park: async (words: number) => {
    const hint = { intent_type: "Bench.Talk.Run", inputs: { words } };
    const { workflow_id } = await kernel.submit({ ...caller, input: { mode: "data" }, intent_hint: hint });
    await kernel.settled(workflow_id);
    return workflow_id;
  },
  memory: measureMemory,
  vitals: () => kernel.vitals(),
  begin: async (workflowId: string) => {
    delay.reset();
    delay.enable();
    before = { at: performance.now(), cpu: process.cpuUsage(), reads: counts.read, commits: counts.append };
    await kernel.decideGate(workflowId, { ...caller, decision: "approve" });
  },
  /** When the workflow has ended: how many events it has, and what that took. */
  ended: async (workflowId: string) => {
    const { sequence } = await kernel.settled(workflowId);
    const ran_ms = performance.now() - before.at;
    return { events: sequence, ran_ms, reads: counts.read - before.reads, commits: counts.append - before.commits };
  },
  cost: () => {
    delay.disable();
    const { user, system } = process.cpuUsage(before.cpu);
    return {
      cpu_ms: (user + system) / 1000,
      loop_delay_p99_ms: delay.percentile(99) / 1e6,
      rss: process.memoryUsage().rss,
    };
  },
  close: async () => {
    await kernel.stop({ drainMs: 0 });
    rmSync(folder, { recursive: true, force: true });
  },
});
