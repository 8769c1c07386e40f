/**
 * What the machine allows without a kernel. Two floors, measured in the same run as the kernel:
 * - the same rows: the very turns of one workflow, appended one after the other in the same group commits;
 * - six small rows: 425 bytes each over bare node:sqlite, as the smallest honest program would keep a five-step
 *   workflow.
 */
import { rmSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { genesisHash } from "../../src/contract/chain.ts";
import { sealTurn, type TurnRow } from "../../src/contract/turn.ts";
import { createLedgerWriter } from "../../src/engine/log/ledger-writer.ts";
import { takeApart } from "../ledgers/reseal.ts";
import { ledgerAt, type Place } from "./place.ts";

export interface Floor {
  readonly run: (id: string) => Promise<void>;
  readonly close: () => Promise<void>;
}

export const removeDatabase = (path: string): void => {
  for (const suffix of ["", "-wal", "-shm"]) rmSync(path + suffix, { force: true });
};

/** Appends a recorded workflow's rows again under another id, as many times as asked. */
export async function openSameRows(place: Place, rows: readonly TurnRow[]): Promise<Floor> {
  const store = ledgerAt(place);
  await store.open();
  const writer = createLedgerWriter(store, { maxBatch: 512, maxBurst: 512 });
  const turns = takeApart(rows);
  return {
    async run(id) {
      let head = genesisHash;
      for (const { envelope, events, ...cause } of turns) {
        const row = sealTurn({ ...envelope, stream: `floor:${id}` }, events, head, cause);
        head = row.hash;
        await writer.append(() => ({ tenant_id: envelope.tenant_id, row, now: envelope.now }));
      }
    },
    close: () => store.close(),
  };
}

const filler = "x".repeat(330);

export async function openSixRows(path: string): Promise<Floor> {
  removeDatabase(path);
  const db = new DatabaseSync(path);
  db.exec("PRAGMA journal_mode=WAL");
  db.exec("PRAGMA synchronous=FULL");
  db.exec("PRAGMA wal_autocheckpoint=4000");
  db.exec("CREATE TABLE ev(seq INTEGER PRIMARY KEY, stream TEXT NOT NULL, n INTEGER NOT NULL, data TEXT NOT NULL)");
  db.exec("CREATE UNIQUE INDEX ev_s ON ev(stream, n)");
  const insert = db.prepare("INSERT INTO ev(stream, n, data) VALUES(?, ?, ?)");
  let queue: { readonly stream: string; readonly n: number; readonly done: () => void }[] = [];
  const flush = (): void => {
    const batch = queue;
    queue = [];
    db.exec("BEGIN IMMEDIATE");
    for (const { stream, n } of batch)
      insert.run(stream, n, JSON.stringify({ id: `${stream}:${n}`, type: "DONE", filler }));
    db.exec("COMMIT");
    for (const { done } of batch) done();
  };
  const append = (stream: string, n: number): Promise<void> =>
    new Promise((done) => {
      queue.push({ stream, n, done });
      if (queue.length === 1) setImmediate(flush);
    });
  return {
    async run(id) {
      for (let n = 0; n < 6; n += 1) await append(id, n);
    },
    close: async () => db.close(),
  };
}
