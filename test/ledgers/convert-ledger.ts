/**
 * Converts a ledger file of an earlier release: `npm run convert -- --old FOLDER --from old.db --to new.db`.
 *
 * Owns: reading events through the library of the old release, and writing them as rows of the present format. One old
 * row becomes one row with the same events, so sequences, times and the order of the log stay as they were.
 * Never: is part of the package, or writes to a file that exists.
 * INV-1  The new file gets its name once it is verified; a conversion that fails leaves no file under that name.
 */
import { existsSync, readFileSync, renameSync, rmSync } from "node:fs";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import { genesisHash } from "../../src/contract/chain.ts";
import type { LedgerEvent } from "../../src/contract/event.ts";
import { sealTurn, type TurnRow } from "../../src/contract/turn.ts";
import { AppendDerivation } from "../../src/kernel/derive-appends.ts";
import { verifyAll } from "../../src/kernel/verify.ts";
import { sqliteLedger } from "../../src/ledger/sqlite/index.ts";
import type { LedgerStore } from "../../src/ports/ledger-store.ts";

const usage = "usage: npm run convert -- --old FOLDER_OF_THE_OLD_RELEASE --from old.db --to new.db";

const notCarriedOver = [
  "the inputs of each row: replay cannot decide converted workflows again; what-if and all other reads can use them",
  "the hashes of the old rows: keep the old file, with its release, as the evidence for them",
  "sessions of browsers: people sign in again",
  "notices that were not yet delivered: notifiers begin with the open gates",
  "leases: the first kernel that opens the new file takes the workflows up",
];

/** The parts of the old release that the conversion uses. Both are public exports since the first ledger. */
interface OldRelease {
  readonly sqliteLedger: (options: { readonly path: string }) => Pick<LedgerStore, "open" | "tail" | "read" | "close">;
  /** Opens all rows of one stream. It throws for a row that is damaged or out of its chain. */
  readonly openTurns: (rows: readonly TurnRow[]) => readonly LedgerEvent[];
}

interface Conversion {
  readonly old: OldRelease;
  readonly from: ReturnType<OldRelease["sqliteLedger"]>;
  readonly to: LedgerStore;
}

const rowsAtOnce = 500;

async function loadOldRelease(folder: string): Promise<OldRelease> {
  const root = await loadEntry(folder, ".");
  const sqlite = await loadEntry(folder, "./sqlite");
  if (typeof root["openTurns"] !== "function" || typeof sqlite["sqliteLedger"] !== "function")
    throw new Error(`${folder} is no release of Countersign: it exports no openTurns or no sqliteLedger`);
  return { ...root, ...sqlite } as unknown as OldRelease;
}

/** Imports an entry as the package's `exports` name it. A clone that was not built has the source in its place. */
async function loadEntry(folder: string, entry: string): Promise<Record<string, unknown>> {
  const manifest = join(folder, "package.json");
  if (!existsSync(manifest)) throw new Error(`--old ${folder} has no package.json; name the folder of the old release`);
  const exported = JSON.parse(readFileSync(manifest, "utf8")).exports?.[entry]?.default;
  if (typeof exported !== "string") throw new Error(`${manifest} exports no ${entry}`);
  const built = resolve(folder, exported);
  const source = resolve(folder, exported.replace(/^\.\/dist\//, "./").replace(/\.js$/, ".ts"));
  return import(pathToFileURL(existsSync(built) ? built : source).href);
}

/** Yields the rows of the old log in their order, each with its events. */
async function* readOldRows({ old, from }: Conversion): AsyncGenerator<readonly [TurnRow, readonly LedgerEvent[]]> {
  /** The events of streams that are under way; those of a stream that has ended its rows are dropped. */
  const streams = new Map<string, readonly LedgerEvent[]>();
  for (let after = 0; ; ) {
    const page = await from.tail(after, rowsAtOnce);
    if (page.length === 0) return;
    for (const { position, row } of page) {
      const events = streams.get(row.stream) ?? old.openTurns(await from.read(row.stream));
      if (row.last_sequence === events.length) streams.delete(row.stream);
      else streams.set(row.stream, events);
      yield [row, events.slice(row.first_sequence - 1, row.last_sequence)];
      after = position;
    }
  }
}

/** Seals the events of an old row behind the row before it. */
function sealAgain(row: TurnRow, events: readonly LedgerEvent[], prevHash: string): TurnRow {
  const [first] = events;
  if (first === undefined) throw new Error(`the row of ${row.stream} at ${row.first_sequence} holds no event`);
  const { tenant_id, workflow_id, thread_id, intent_id, plan_id, correlation_id, actor } = first;
  const shared = { stream: row.stream, tenant_id, workflow_id, thread_id, intent_id, plan_id, correlation_id, actor };
  const place = { now: Date.parse(first.timestamp), first: row.first_sequence, count: events.length };
  const isShared = (event: LedgerEvent) => JSON.stringify(event.actor) === JSON.stringify(actor);
  const stored = events.map((event) => ({
    id: event.event_id,
    type: event.event_type,
    step: event.step_id,
    plan: event.plan_id === plan_id ? undefined : event.plan_id,
    actor: isShared(event) ? undefined : event.actor,
    payload: event.payload,
  }));
  return sealTurn({ ...shared, ...place }, stored, prevHash);
}

/** Writes all rows, and returns how many rows, streams and events there are. */
async function convert(conversion: Conversion) {
  const { to } = conversion;
  const derivation = new AppendDerivation(to);
  const heads = new Map<string, string>();
  let [rows, written] = [0, 0];
  for await (const [old, events] of readOldRows(conversion)) {
    const row = sealAgain(old, events, heads.get(old.stream) ?? genesisHash);
    heads.set(row.stream, row.hash);
    const entry = await derivation.of(row);
    const [receipt] = entry === null ? [] : await to.append([{ ...entry, lazy: true }]);
    if (receipt?.ok !== true)
      throw new Error(`${row.stream} at ${row.first_sequence} cannot be written: ${receipt?.reason ?? "unreadable"}`);
    rows += 1;
    written += events.length;
  }
  await to.sync?.();
  return { rows, streams: heads.size, events: written };
}

async function verify(store: LedgerStore): Promise<void> {
  const { ok, broken } = await verifyAll(store, {}, undefined);
  const [first] = broken;
  if (!ok) throw new Error(`the new ledger is not sound: ${first?.stream} at ${first?.sequence} (${first?.reason})`);
}

function removeLedger(path: string): void {
  for (const file of [path, `${path}-wal`, `${path}-shm`]) rmSync(file, { force: true });
}

async function main(): Promise<void> {
  const { old: folder, from: source, to: target } = readOptions();
  if (!existsSync(source)) throw new Error(`--from ${source} does not exist`);
  if (existsSync(target)) throw new Error(`--to ${target} exists already; name a new file`);
  const old = await loadOldRelease(folder);
  const part = `${target}.part`;
  removeLedger(part);
  const [from, to] = [old.sqliteLedger({ path: source }), sqliteLedger({ path: part })];
  await from.open();
  try {
    await to.open();
    const { rows, streams, events } = await convert({ old, from, to });
    await verify(to);
    await to.close();
    renameSync(part, target);
    console.log(`${events} events in ${rows} rows of ${streams} streams are in ${target}; the new ledger is sound.`);
    console.log(["Not carried over:", ...notCarriedOver.map((what) => `- ${what}`)].join("\n"));
  } catch (error) {
    await to.close().catch(() => undefined);
    removeLedger(part);
    throw error;
  } finally {
    await from.close();
  }
}

function readOptions() {
  const text = { type: "string" } as const;
  const { values } = parseArgs({ options: { old: text, from: text, to: text } });
  const { old, from, to } = values;
  if (old === undefined || from === undefined || to === undefined) throw new Error(usage);
  return { old, from, to };
}

main().catch((error: unknown) => {
  console.error(error instanceof Error ? error.message : String(error));
  process.exitCode = 1;
});
