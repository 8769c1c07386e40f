/**
 * The chain of a stream: each row's hash covers its bytes and the hash of the row before it.
 *
 * Owns: the chain rule, and the records that describe where a chain is broken. Never: reads the content of a row.
 * 1.  hash = H(previous ‖ envelope bytes ‖ H(body bytes)), over the bytes stored. The first row's previous hash is
 *     `genesisHash`. The envelope names the stream.
 * 2.  A row without a body is damaged: no event records that a body was erased.
 */
import { sha256 } from "./digest.ts";
import { kernelError } from "./error-codes.ts";
import type { JsonObject } from "./json.ts";
import { KernelErrorException, raise } from "./kernel-error.ts";
import { moduleRef } from "./module-ref.ts";
import type { TurnRow } from "./turn.ts";

export const genesisHash = "0".repeat(64);

/** Returns the text of a row in an export: these members, in this order, and no others. */
export function rowText(row: TurnRow): string {
  const { stream, first_sequence, last_sequence, envelope, body, body_hash, prev_hash, hash } = row;
  return JSON.stringify({ stream, first_sequence, last_sequence, envelope, body, body_hash, prev_hash, hash });
}

export const chainHash = (prev: string, envelope: string, bodyHash: string): string =>
  sha256(prev + envelope + bodyHash);

const placeOf = (row: Partial<TurnRow> | null) => ({ stream: row?.stream ?? "", sequence: row?.first_sequence ?? 0 });
const readRef = moduleRef(0, "ledger", "read");

/** Raises the damage as an error. @throws KernelErrorException T0_LEDGER_CORRUPT. */
export function refuseDamage(broken: ChainBreak): never {
  const { stream, sequence, reason } = broken;
  const message = `the ledger is damaged: ${stream} at sequence ${sequence} (${reason})`;
  raise(kernelError("T0_LEDGER_CORRUPT", message, readRef, { detail: { broken } }));
}

/**
 * Returns the damage that an error thrown while reading a row describes. Any other error means that the row has content
 * that no kernel of this release writes.
 */
export function damageIn(row: TurnRow, thrown: unknown): ChainBreak {
  const { broken } = (thrown instanceof KernelErrorException ? thrown.error.detail : {}) as { broken?: ChainBreak };
  return broken ?? { ...placeOf(row), reason: "format" };
}

/** The kind of damage of the bytes of a row by themselves. */
type RowDamage = "missing" | "body" | "hash";

/** The damage of a chain, at the first row that is wrong. */
export interface ChainBreak {
  readonly stream: string;
  readonly sequence: number;
  /**
   * The kind of the damage. `missing`: the row has no body. `spelling`: its JSON is not formatted as a kernel formats
   * it. `signature`: the chain is intact, and a signed approval in the row does not verify. `fold`: the row can be
   * read, and no state of its workflow follows from its events. `index`: the log is intact, and a row of an index
   * disagrees with it.
   */
  readonly reason: RowDamage | "link" | "sequence" | "format" | "spelling" | "signature" | "fold" | "index";
  /** The damaged entry of an index, and what is wrong with it. */
  readonly index?: IndexBreak;
}

/** An entry of an index that disagrees with the log, or that is missing. */
export interface IndexBreak {
  readonly table: string;
  readonly key: JsonObject;
  /** `missing`: only the log has the entry; `extra`: only the index has it; `forged`: they differ in `columns`. */
  readonly wrong: "missing" | "extra" | "forged";
  readonly columns: readonly string[];
}

/** Verifies one row against the hash before it and the sequence it must begin with. */
export function checkRow(row: TurnRow, prevHash: string, expectedFirst: number): ChainBreak | null {
  const damage = checkBytes(row, prevHash);
  if (damage !== null) return { ...placeOf(row), reason: damage };
  const isInPlace = standsAt(row, JSON.parse(row.envelope) as Linked, expectedFirst);
  return isInPlace ? null : { ...placeOf(row), reason: "sequence" };
}

/** Returns the damage of a row's hashes, given the hash of the row before it. */
export const checkBytes = (row: TurnRow, prevHash: string): RowDamage | "link" | null =>
  row.prev_hash === prevHash ? findDamage(row) : "link";

/** The members of an envelope that bind its row to its place. */
interface Linked {
  readonly stream: string;
  readonly first: number;
  readonly count: number;
}

/** Returns whether a row has the stream and the sequences that its envelope states. */
export function standsAt(row: TurnRow, { stream, first, count }: Linked, expectedFirst: number): boolean {
  const isWhole =
    first === expectedFirst && row.first_sequence === expectedFirst && row.last_sequence === expectedFirst + count - 1;
  return isWhole && stream === row.stream;
}

function findDamage(row: TurnRow): RowDamage | null {
  if (row.body === null) return "missing";
  if (sha256(row.body) !== row.body_hash) return "body";
  return chainHash(row.prev_hash, row.envelope, row.body_hash) === row.hash ? null : "hash";
}

/** Verifies the rows of one stream in order, from the first or from a known place on. */
export function verifyChain(
  rows: Iterable<TurnRow>,
  from: { readonly prev: string; readonly next: number } = { prev: genesisHash, next: 1 },
): ChainBreak | null {
  let { prev, next } = from;
  let stream: string | null = null;
  for (const row of rows) {
    const broken = checkRowSafely(row, prev, next);
    if (broken !== null) return broken;
    stream ??= row.stream;
    if (row.stream !== stream) return { ...placeOf(row), reason: "sequence" };
    prev = row.hash;
    next = row.last_sequence + 1;
  }
  return null;
}

/**
 * Checks a row as `checkRow` does, also if anybody may have written it: a row whose hashes match but whose text is not
 * JSON is broken too.
 */
export function checkRowSafely(row: TurnRow, prev: string, next: number): ChainBreak | null {
  try {
    return checkRow(row, prev, next);
  } catch {
    return { ...placeOf(row), reason: "format" };
  }
}
