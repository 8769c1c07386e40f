// Run as a process of its own: a kernel whose every way out (files, sockets, processes, fetch) is a trap that notes who
// sprang it. Prints the traps as JSON: inside an operator, or in the kernel's own code.
import { AsyncLocalStorage } from "node:async_hooks";
import child_process from "node:child_process";
import dgram from "node:dgram";
import dns from "node:dns";
import fs from "node:fs";
import http from "node:http";
import https from "node:https";
import { syncBuiltinESMExports } from "node:module";
import net from "node:net";
import tls from "node:tls";
import { z } from "zod";
import { defineCapability } from "../../src/define/define-capability.ts";
import { defineOperator } from "../../src/define/define-operator.ts";
import { sqliteLedger } from "../../src/ledgers/sqlite/index.ts";
import { createTestKernel, memoryLedger, testCaller } from "../../src/testing/index.ts";

const { writeSync } = fs;
const inOperator = new AsyncLocalStorage<true>();
const sprung: { readonly way: string; readonly by: "operator" | "kernel" }[] = [];

/** Replaces each function of a module by a trap: it notes, and does nothing. */
function trap(name: string, module: object): void {
  for (const [key, value] of Object.entries(module)) {
    if (typeof value !== "function" || /^[A-Z]/.test(key)) continue;
    Object.defineProperty(module, key, {
      configurable: true,
      value: () =>
        void sprung.push({ way: `${name}.${key}`, by: inOperator.getStore() === true ? "operator" : "kernel" }),
    });
  }
}

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
    run: () => inOperator.run(true, () => ({ done: go() === null || true })),
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

const modules = { fs, "fs.promises": fs.promises, net, tls, http, https, dgram, dns, child_process };
for (const [name, module] of Object.entries(modules)) trap(name, module);
globalThis.fetch = (() =>
  void sprung.push({ way: "fetch", by: inOperator.getStore() === true ? "operator" : "kernel" })) as never;
syncBuiltinESMExports();

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
writeSync(1, JSON.stringify({ state: state.state, sprung }));
