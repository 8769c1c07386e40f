/** The server of bench:http, in a process of its own. It also measures the same kernel from inside. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createHttpApp, serveHttp } from "../../src/faces/http/index.ts";
import { answerParent } from "./in-child.ts";
import { measureRate } from "./measure.ts";
import { openWorkload } from "./workload.ts";

const caller = { tenant_id: 1, principal: { type: "human", id: 1, role: "user" } } as const;
const hint = { intent_type: "Bench.Plain.Run", inputs: { id: "b" } };
const folder = mkdtempSync(join(tmpdir(), "countersign-http-"));
const { kernel, plain } = await openWorkload(join(folder, "kernel.db"));
const app = createHttpApp(kernel, { tokens: [{ token: "bench", ...caller }] });
const { url } = await serveHttp(app, { port: 0 });

/** Until all that was accepted has run. */
async function drained(): Promise<void> {
  while (kernel.vitals().workflows > 0) await new Promise<void>((resolve) => setTimeout(resolve, 1));
}

answerParent({
  url: () => url,
  drained,
  /** Submits from inside, `concurrency` at a time; each answer is awaited, its workflow is not. */
  submits: async ({ concurrency, ms }: { readonly concurrency: number; readonly ms: number }) => {
    const submit = () => kernel.submit({ ...caller, input: { mode: "data" }, intent_hint: hint });
    return measureRate(submit, { concurrency, runs: 1, ms });
  },
  warm: async () => {
    await Promise.all(Array.from({ length: 64 }, () => plain("b")));
  },
  close: async () => {
    await kernel.stop();
    rmSync(folder, { recursive: true, force: true });
  },
});
