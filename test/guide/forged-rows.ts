/**
 * Rows that somebody forged who can compute hashes: the chain fits, and a text says what no kernel writes.
 *
 * Owns: ledger files and exports that hold one forged row in a stream of its own, for each forgery.
 */
import { writeFileSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { genesisHash } from "../../src/contract/chain.ts";
import { sha256 } from "../../src/contract/digest.ts";
import { sealEvidence } from "../../src/contract/evidence.ts";
import type { TurnRow } from "../../src/index.ts";
import { sqliteLedger } from "../../src/ledger/sqlite/index.ts";
import { composeEvidence } from "../../src/tiers/t6-metacognition/compose-evidence.ts";
import { withStore } from "../ledgers/ledger-files.ts";

/** What is written in place of a row's two texts. A character from U+E080 to U+E0FF stands for the byte 80 to FF. */
export interface Forgery {
  readonly envelope: (text: string) => string;
  readonly body: (text: string) => string;
  /** The hashes are over the text that a lenient decoder reads, not over the bytes. */
  readonly isLenient?: boolean;
  /** Changes the row's other members. SQLite holds numbers and texts there, so it concerns exports alone. */
  readonly row?: (row: TurnRow) => object;
}

/** Returns the bytes of a text of a forgery. */
function toBytes(text: string): Buffer {
  const pieces = text.split(/([\ue080-\ue0ff])/);
  return Buffer.concat(
    pieces.map((piece, i) => (i % 2 === 0 ? Buffer.from(piece) : Buffer.from([piece.charCodeAt(0) & 0xff]))),
  );
}

interface ForgedRow {
  readonly row: TurnRow;
  readonly change: (row: TurnRow) => object;
}

function forge(base: TurnRow, { envelope, body, isLenient = false, row = same }: Forgery, stream: string): ForgedRow {
  const texts = {
    envelope: envelope(base.envelope.replace(base.stream, stream)),
    body: body(base.body ?? ""),
  };
  const hashed = (text: string): Buffer => {
    const bytes = toBytes(text);
    return isLenient ? Buffer.from(bytes.toString("utf8")) : bytes;
  };
  const body_hash = sha256(hashed(texts.body));
  const hash = sha256(Buffer.concat([Buffer.from(genesisHash), hashed(texts.envelope), Buffer.from(body_hash)]));
  const { first_sequence, last_sequence } = base;
  const forged = { stream, first_sequence, last_sequence, ...texts, body_hash, prev_hash: genesisHash, hash };
  return { row: forged, change: row };
}

const same = (row: TurnRow): object => row;

/** The stream that holds this forgery. */
export const streamOf = (i: number): string => `wf_${i}`;

/** Writes a ledger file whose streams hold one forged row each. */
export async function writeForgedLedger(file: string, base: TurnRow, forgeries: readonly Forgery[]): Promise<void> {
  await withStore(sqliteLedger({ path: file }), async () => undefined);
  using database = new DatabaseSync(file);
  const insert = database.prepare(
    "INSERT INTO events VALUES (?, ?, ?, ?, '1', CAST(? AS TEXT), CAST(? AS TEXT), ?, ?, ?)",
  );
  for (const [i, forgery] of forgeries.entries()) {
    const { row } = forge(base, forgery, streamOf(i));
    const { stream, first_sequence, last_sequence, envelope, body, body_hash, prev_hash, hash } = row;
    const texts = [toBytes(envelope), toBytes(body ?? "")] as const;
    insert.run(i + 1, stream, first_sequence, last_sequence, ...texts, body_hash, prev_hash, hash);
  }
}

/**
 * Writes an export whose streams hold one forged row each. The lines of evidence fit the row as far as it can be read.
 */
export function writeForgedExport(file: string, base: TurnRow, forgeries: readonly Forgery[]): void {
  const lines = forgeries.flatMap((forgery, i) => {
    const { row, change } = forge(base, forgery, streamOf(i));
    return [JSON.stringify(change(row)), ...evidenceOf(row)];
  });
  writeFileSync(file, toBytes(lines.map((line) => `${line}\n`).join("")));
}

function evidenceOf(row: TurnRow): readonly string[] {
  try {
    return composeEvidence([row], []).slice(1);
  } catch {
    const { stream, last_sequence: sequence, hash } = row;
    const counts = { rows: 1, audit_entries: 0, reports: 0 };
    const closing = { evidence: "closing", stream, ...counts, head: { sequence, hash } } as const;
    return [JSON.stringify(sealEvidence(hash, closing))];
  }
}
