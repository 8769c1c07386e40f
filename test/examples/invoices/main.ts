/**
 * Two hundred invoices are settled, ten at a time, each as a child workflow. The process is killed twice meanwhile. Large
 * payments wait for a person, who approves them together; payments to closed accounts fail alone. `npm start`
 */
import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, readFileSync, watch } from "node:fs";
import { join } from "node:path";
import { ann, begin, openKernel } from "./worker.ts";

const bo = { tenant_id: 1, principal: { type: "user", id: "bo", role: "admin" } } as const;
const booked = (): readonly string[] =>
  existsSync("bank.txt") ? readFileSync("bank.txt", "utf8").trim().split("\n") : [];

/** Lets a process work until the bank has booked so many payments, and kills it in the midst of others. */
async function workUntil(payments: number): Promise<void> {
  const worker: ChildProcess = spawn(process.execPath, [join(import.meta.dirname, "worker.ts")], { stdio: "inherit" });
  const ends = new Promise((resolve) => worker.once("exit", resolve));
  const watcher = watch(".", () => void (booked().length >= payments && worker.kill("SIGKILL")));
  await ends;
  watcher.close();
}

await workUntil(50);
await workUntil(120);
await using kernel = await openKernel();
const workflow_id = await begin(kernel);

const ended = kernel.settled(workflow_id);

// Once three payments wait for bo, they are decided in one request, each by the digest of what its gate shows.
for await (const _change of kernel.feed({}, bo)) {
  const waiting = await kernel.gates({ operator: "Bank.Pay" }, bo);
  if (waiting.length < 3) continue;
  const decisions = waiting.map(({ workflow_id, gate_id, payload_digest }) => ({
    ...{ workflow_id, gate_id, decision: "approve" as const },
    payload: { payload_digest },
  }));
  console.log("approved together:", (await kernel.decideGates({ ...bo, decisions })).taken);
  break;
}
const { state, steps } = await ended;
const { total, succeeded, failed } = JSON.parse(steps[0]?.output_text ?? "{}");
console.log(state, { total, succeeded, failed });
const keys = new Set(booked().map((line) => line.split(" ")[0]));
console.log("booked by the bank, each under a key of its own:", keys.size);
const page = await kernel.items(workflow_id, { of: "all", limit: 7 }, ann);
console.log(page.items.map(({ key, state }) => `${key} ${state}`).join(", "));
console.log("ledger sound:", (await kernel.verify(workflow_id)).ok);
