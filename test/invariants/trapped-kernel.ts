// Run as a process of its own: a kernel whose every way out (files, sockets, processes, fetch) is a trap that notes who
// sprang it. Prints the traps as JSON: inside an operator, or in the kernel's own code.
import child_process from "node:child_process";
import fs from "node:fs";
import http from "node:http";
import net from "node:net";
import { z } from "zod";
import { defineCapability } from "../../src/define/define-capability.ts";
import { defineOperator } from "../../src/define/define-operator.ts";
import { sqliteLedger } from "../../src/ledger/sqlite/index.ts";
import { createTestKernel, memoryLedger, testCaller } from "../../src/testing/index.ts";
import { asOperator, setTraps, tell } from "./traps.ts";

const anything = z.record(z.string(), z.unknown());
const outward = {
  "Out.File": () => fs.writeFileSync("/nowhere/at/all", "x"),
  "Out.Promise": () => fs.promises.writeFile("/nowhere/at/all", "x"),
  "Out.Socket": () => net.connect(9, "127.0.0.1"),
  "Out.Process": () => child_process.spawn("true"),
  "Out.Fetch": () => fetch("http://127.0.0.1:9"),
  "Out.Http": () => http.request("http://127.0.0.1:9"),
} as const;

const operators = Object.entries(outward).map(([name, go]) =>
  defineOperator({
    name,
    effect: "write_draft",
    input: anything,
    output: z.object({ done: z.boolean() }),
    run: () => asOperator(() => ({ done: go() === null || true })),
  }),
);
const names = Object.keys(outward);
const steps = names.map((operator, i) => ({
  step_id: `s${i}`,
  name: operator,
  operator,
  depends_on: i === 0 ? [] : [`s${i - 1}`],
  ...(i % 2 === 0 ? { gate: {} } : {}),
  ...(i === 0 ? { outcome: "Draft.Out" } : {}),
  ...(i === names.length - 1 ? { applies: "s0" } : {}),
}));
const capability = defineCapability({
  intentType: "Out.World.Touch",
  version: "1.0",
  input: anything,
  operators,
  outcomes: { "Draft.Out": z.object({ done: z.boolean() }) },
  plan: { reasoning: "touch the world", steps },
});

// The driver is loaded when a ledger is opened: what loads it is the runtime, and comes before the traps.
const before = await createTestKernel({ ledger: sqliteLedger() });
await before.kernel.stop({ drainMs: 0 });

setTraps();

const withFile = process.argv[2];
const ledger = withFile === undefined ? memoryLedger() : sqliteLedger({ path: withFile });
const t = await createTestKernel({ ledger, capabilities: [capability], notify: () => undefined });
const processed_content = { hash: "h", bytes: 1 };
await t.kernel.documents.record({ tenant_id: 1, document_id: 1, processed_content });
await t.kernel.memory.write({ tenant_id: 1, key: "k", type: "note", value: "v", source: "test", confidence: 1 });
const id = await t.submit("Out.World.Touch", {}, { thread_id: 7 });
for (let i = 0; i < 12; i += 1) {
  const { state, gates } = await t.rest(id);
  if (state !== "waiting_for_user") break;
  for (const gate of gates.filter((g) => g.status === "open")) await t.approve(id, gate.gate_id);
}
const state = await t.kernel.workflow(id);
for await (const _ of t.kernel.progress(id, { live: false }));
await t.kernel.explain(id);
await t.kernel.trace(id);
await t.kernel.retry(id, { ...testCaller, mode: "regenerate" });
await t.clock.settle();
await t.kernel.stop({ drainMs: 0 });
tell({ state: state.state });
