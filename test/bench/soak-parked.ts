/**
 * npm run soak:parked -- --count 1000000: so many parked workflows on one ledger. Prints its size, what one more of
 * them holds in memory, and how long a fresh process takes to start, to the end of a first approval, for filtered lists
 * and for the inbox. One JSON line each.
 *
 * Options: --count (100000), --originals (2000; how many run through the kernel, the others are copied), --dir (a
 * folder for the file; it is removed at the end), --postgres (in place of the file a schema of a server, which is
 * started here or is that of POSTGRES).
 */
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { type Child, startChild } from "./in-child.ts";
import { median, rounded } from "./measure.ts";
import { fillParked } from "./parked-ledger.ts";
import type { Place } from "./place.ts";
import { openStage } from "./postgres-stage.ts";

const { values } = parseArgs({
  options: {
    count: { type: "string", default: "100000" },
    originals: { type: "string", default: "2000" },
    dir: { type: "string", default: tmpdir() },
    postgres: { type: "boolean", default: false },
  },
});
const count = Number(values.count);
const folder = mkdtempSync(join(values.dir, "countersign-parked-"));
const path = join(folder, "parked.db");
const stage = values.postgres ? await openStage() : null;
const place: Place = stage === null ? { path } : { url: stage.url, schema: stage.freshSchema("parked") };
const print = (what: string, result: object): void => console.log(JSON.stringify({ what, ...result }));

async function timed<T>(work: () => Promise<T>): Promise<{ readonly ms: number; readonly value: T }> {
  const at = performance.now();
  const value = await work();
  return { ms: rounded(performance.now() - at), value };
}

/** The first time and the median of five more. */
async function measure(what: string, work: () => Promise<unknown>): Promise<void> {
  const first = await timed(work);
  const more: number[] = [];
  for (let i = 0; i < 5; i += 1) more.push((await timed(work)).ms);
  print(what, { first_ms: first.ms, ms: median(more), found: first.value });
}

/** What one more parked workflow adds to the heap of the process that parked it. */
async function measureHeap(child: Child): Promise<void> {
  const [warm, more] = [2_000, 10_000];
  await child.ask("park", { count: warm, from: 0 });
  const before = await settledMemory(child);
  const { ms } = await timed(() => child.ask("park", { count: more, from: warm }));
  const after = await settledMemory(child);
  const each = Math.round((after.heap - before.heap) / more);
  print("parking", { more, per_s: Math.round((1000 * more) / ms), heap_bytes_each: each, rss_mb: mb(after.rss) });
}

interface Memory {
  readonly rss: number;
  readonly heap: number;
}

/** After some collections: what one leaves the next may take. */
async function settledMemory(child: Child): Promise<Memory> {
  for (let i = 0; i < 4; i += 1) await child.ask("memory");
  return child.ask<Memory>("memory");
}

const mb = (bytes: number): number => rounded(bytes / 1e6);

try {
  const filled = await timed(() => fillParked(place, { count, originals: Number(values.originals) }));
  const size = (await stage?.sizeOf("parked")) ?? statSync(path).size;
  print("ledger", { count, mb: mb(size), bytes_each: Math.round(size / count), filled_s: rounded(filled.ms / 1000) });

  const child = await startChild("./parked-process.ts");
  const opened = await timed(() => child.ask("open", place));
  const id = await child.ask<string>("anyWorkflow");
  const approved = await timed(() => child.ask("approve", id));
  const { rss, heap } = await settledMemory(child);
  const first_approval_ms = rounded(opened.ms + approved.ms);
  print("start", {
    open_ms: opened.ms,
    approval_ms: approved.ms,
    first_approval_ms,
    rss_mb: mb(rss),
    heap_mb: mb(heap),
  });

  const since = new Date(Date.now() - 3_600_000).toISOString();
  const filters = {
    all: {},
    state: { states: ["waiting_for_user"] },
    "state, none": { states: ["failed"] },
    type: { intent_type: "Soak.Order.Refund" },
    principal: { principal: 11 },
    "type and state": { intent_type: "Soak.Order.Ship", states: ["waiting_for_user"] },
    dates: { since },
    "text, common": { text: "order-1" },
    "text, rare": { text: `order-${10 * 7}`, limit: 1_000 },
    "text, none": { text: "nobody ordered this" },
    "state, counted": { states: ["waiting_for_user"], total: true },
  };
  for (const [name, filter] of Object.entries(filters))
    await measure(`workflows: ${name}`, () => child.ask("list", filter).catch((error: Error) => error.message));
  const inboxes = {
    all: {},
    mine: { mine: true },
    operator: { operator: "Soak.Step" },
    "due before": { due_before: new Date().toISOString() },
    counted: { total: true },
  };
  for (const [name, filter] of Object.entries(inboxes))
    await measure(`inbox: ${name}`, () => child.ask("inbox", filter));
  await measureHeap(child);
  await child.ask("stop");
  await child.stop();
} finally {
  await stage?.close();
  rmSync(folder, { recursive: true, force: true });
}
