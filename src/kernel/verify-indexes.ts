/**
 * Derives the indexes of a ledger again from its log and compares them with the stored ones.
 *
 * Owns: feeding the log, row by row, to the derivation that wrote the indexes (derive-appends.ts) and to an empty
 * ledger in memory; and the comparison, of all tables and all columns that the store names.
 * Never: knows a table or a column by name, except as I2 and I3 state.
 * I1  The rows that a broken stream would have added are unknown: they are left out, and so are tables whose rows
 *     belong to no workflow.
 * I2  The listed form of a gate follows from its record.
 * I3  A turn that took the lease and changed nothing else moved `updated_at`, and the log does not show which one did.
 */

import type { ChainBreak } from "../contract/chain.ts";
import { canonicalJson } from "../contract/digest.ts";
import type { Gate } from "../contract/gate.ts";
import type { Json } from "../contract/json.ts";
import { listGate } from "../contract/listed-gate.ts";
import type { TurnRow } from "../contract/turn.ts";
import type { Append, IndexTable, LedgerStore, PositionedRow, StoredIndexes } from "../ports/ledger-store.ts";
import { AppendDerivation } from "./derive-appends.ts";

interface RebuildParts {
  readonly store: Pick<LedgerStore, "read">;
  readonly stored: StoredIndexes;
  /** An empty ledger, open; the rebuild closes it. */
  readonly scratch: LedgerStore;
}

type Row = IndexTable["rows"][number];

export class IndexRebuild {
  readonly #parts: RebuildParts;
  readonly #broken: ChainBreak[] = [];
  /** Streams that the log does not show completely. */
  readonly #unknown = new Set<string>();
  readonly #derivation: AppendDerivation;
  /** The instants at which a workflow's index row may have been written last. */
  readonly #instants = new Map<string, Set<number>>();
  /** The positions in the verified ledger of the rows of the ledger in memory, in its order. */
  readonly #positions: number[] = [];

  constructor(parts: RebuildParts) {
    this.#parts = parts;
    this.#derivation = new AppendDerivation(parts.store);
  }

  /**
   * Adds rows. @param rows all rows of the log after those that were added before; `broken` names the damaged streams.
   */
  async add(rows: readonly PositionedRow[], broken: ReadonlyMap<string, ChainBreak>): Promise<void> {
    const { scratch, stored } = this.#parts;
    const batch: { readonly position: number; readonly entry: Append }[] = [];
    for (const { position, row } of rows) {
      if (position > stored.position) break;
      const entry = broken.has(row.stream) ? null : await this.#derive(row);
      if (entry === null) this.#unknown.add(row.stream);
      else batch.push({ position, entry });
    }
    const receipts = await scratch.append(batch.map(({ entry }) => entry));
    for (const [i, { position, entry }] of batch.entries())
      if (receipts[i]?.ok === true) this.#positions.push(position);
      else this.#unknown.add(entry.row.stream);
  }

  async end(): Promise<readonly ChainBreak[]> {
    const { scratch, stored } = this.#parts;
    try {
      const derived = (await scratch.indexes?.())?.tables ?? [];
      for (const table of derived)
        this.#compare(
          table,
          stored.tables.find(({ name }) => name === table.name),
        );
      return this.#broken;
    } finally {
      await scratch.close();
    }
  }

  async #derive(row: TurnRow): Promise<Append | null> {
    if (this.#unknown.has(row.stream)) return null;
    const entry = await this.#derivation.of(row);
    if (entry === null) this.#broken.push({ stream: row.stream, sequence: row.first_sequence, reason: "fold" });
    else this.#noteInstant(row.stream, entry);
    // Only indexes are compared, so that the ledger in memory needs no bytes.
    return entry === null ? null : { ...entry, row: { ...row, envelope: "", body: null } };
  }

  #noteInstant(stream: string, { now, indexes }: Pick<Append, "now" | "indexes">): void {
    const isWritten = indexes?.create !== undefined || indexes?.state !== undefined || indexes?.due_at !== undefined;
    const instants = (isWritten ? undefined : this.#instants.get(stream)) ?? new Set();
    this.#instants.set(stream, instants.add(now));
  }

  #compare(derived: IndexTable, stored: IndexTable | undefined): void {
    if (this.#unknown.size > 0 && !derived.rows.concat(stored?.rows ?? []).every((row) => ownerOf(row) !== null))
      return;
    const keyOf = (row: Row): string => canonicalJson(derived.key.map((column) => row[column]));
    const left = new Map((stored?.rows ?? []).map((row) => [keyOf(row), row]));
    for (const row of derived.rows) {
      const key = keyOf(row);
      this.#judge(derived, this.#placed(row), left.get(key));
      left.delete(key);
    }
    for (const row of left.values()) this.#judge(derived, undefined, row);
  }

  /** Returns a row with its position in the verified ledger, because positions are compared as well. */
  #placed(row: Row): Row {
    const at = row["position"];
    return typeof at === "number" ? { ...row, position: this.#positions[at - 1] ?? null } : row;
  }

  #judge(table: IndexTable, derived: Row | undefined, stored: Row | undefined): void {
    if ([derived, stored].some((row) => row !== undefined && this.#unknown.has(ownerOf(row) ?? ""))) return;
    const columns = derived === undefined || stored === undefined ? [] : this.#differing(table.name, derived, stored);
    const row = (stored ?? derived) as Row;
    if (derived !== undefined && stored !== undefined && columns.length === 0) return;
    const wrong = derived === undefined ? "extra" : stored === undefined ? "missing" : "forged";
    const key = Object.fromEntries(table.key.map((column) => [column, row[column] ?? null]));
    const stream = ownerOf(row) ?? `tenant:${row["tenant_id"]}`;
    this.#broken.push({ stream, sequence: 0, reason: "index", index: { table: table.name, key, wrong, columns } });
  }

  #differing(table: string, derived: Row, stored: Row): readonly string[] {
    return Object.keys({ ...derived, ...stored }).filter((column) => {
      const [one, other] = [derived[column], stored[column]];
      if (one === other || (table === "charges" && isNear(one, other))) return false;
      if (table === "workflows" && column === "updated_at")
        return this.#instants.get(ownerOf(stored) ?? "")?.has(other as number) !== true;
      if (table === "gates" && column === "listed") return other !== listedFormOf(stored["record"]);
      return readCell(one) !== readCell(other);
    });
  }
}

/** Compares sums: a sum of fractions depends on their order, which in some stores is that of commits. */
const isNear = (one: Row[string] | undefined, other: Row[string] | undefined): boolean =>
  typeof one === "number" && typeof other === "number" && Math.abs(one - other) <= 1e-9 * Math.max(1, Math.abs(one));

/** Returns the stream that a row of an index is derived from; null if many streams add to it. */
const ownerOf = (row: Row): string | null => (row["workflow_id"] ?? row["stream"] ?? null) as string | null;

/** Returns the content of a cell, independent of the order of its keys. */
const readCell = (cell: Row[string] | undefined): string => unlessUnreadable(cell, canonicalJson);

/** Returns the listed form of a gate's record: it follows from the record, which is compared itself. */
const listedFormOf = (record: Row[string] | undefined): string | null => {
  const text = unlessUnreadable(record, (gate) => {
    const listed = listGate(gate as unknown as Gate);
    return listed.truncated ? JSON.stringify(listed) : "";
  });
  return text === "" ? null : text;
};

function unlessUnreadable(cell: Row[string] | undefined, tell: (value: Json) => string): string {
  try {
    return tell(JSON.parse(String(cell)) as Json);
  } catch {
    return String(cell);
  }
}
