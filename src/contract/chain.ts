/**
 * The chain of a stream: each row's hash covers its bytes and the hash of the row before it.
 *
 * Owns: the chain rule, and the words for where a chain is broken. Never: reads what a row says.
 * 1.  hash = H(previous ‖ envelope bytes ‖ H(body bytes)), over the bytes stored. The first row's previous hash is
 *        `genesisHash`, and its envelope names the stream.
 * 2.  A row without a body is damaged: no event records that a body was erased.
 */
import { sha256 } from "./digest.ts";
import { kernelError } from "./error-codes.ts";
import type { JsonObject } from "./json.ts";
import { KernelErrorException, raise } from "./kernel-error.ts";
import { moduleRef } from "./module-ref.ts";
import type { TurnRow } from "./turn.ts";

export const genesisHash = "0".repeat(64);

/** A row as an export spells it: these fields, in this order, and nothing else. */
export function rowText(row: TurnRow): string {
  const { stream, first_sequence, last_sequence, envelope, body, body_hash, prev_hash, hash } = row;
  return JSON.stringify({ stream, first_sequence, last_sequence, envelope, body, body_hash, prev_hash, hash });
}

export const chainHash = (prev: string, envelope: string, bodyHash: string): string =>
  sha256(prev + envelope + bodyHash);

const placeOf = (row: Partial<TurnRow> | null) => ({ stream: row?.stream ?? "", sequence: row?.first_sequence ?? 0 });
const readRef = moduleRef(0, "ledger", "read");

/** @throws KernelErrorException T0_LEDGER_CORRUPT. */
export function refuseDamage(broken: ChainBreak): never {
  const { stream, sequence, reason } = broken;
  const message = `the ledger is damaged: ${stream} at sequence ${sequence} (${reason})`;
  raise(kernelError("T0_LEDGER_CORRUPT", message, readRef, { detail: { broken } }));
}

/** The damage that reading a row threw. What threw anything else holds what no kernel of this release writes. */
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
   * `missing`: the row has no body. `spelling`: its JSON is not spelled as a kernel spells it. `signature`: the chain is
   * sound there, and a signed approval in it is not. `index`: the log is sound, and a row of an index beside it does not
   * say what the log does.
   */
  readonly reason: RowDamage | "link" | "sequence" | "format" | "spelling" | "signature" | "index";
  /** Of an index: which row, and what is wrong with it. */
  readonly index?: IndexBreak;
}

/** An entry of an index that the log does not give, or one that is missing. */
export interface IndexBreak {
  readonly table: string;
  readonly key: JsonObject;
  /** `missing`: the log tells of it; `extra`: it does not; `forged`: `columns` say otherwise than the log. */
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
  readonly stream?: string;
  readonly first: number;
  readonly count: number;
}

/** Returns whether a row with this envelope is where it says. The first of a stream names it. */
export function standsAt(row: TurnRow, { stream, first, count }: Linked, expectedFirst: number): boolean {
  const isWhole =
    first === expectedFirst && row.first_sequence === expectedFirst && row.last_sequence === expectedFirst + count - 1;
  return isWhole && (stream === undefined ? expectedFirst > 1 : stream === row.stream);
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

/** As `checkRow`, of a row that anybody may have written: one whose hashes fit around what is no JSON is broken too. */
export function checkRowSafely(row: TurnRow, prev: string, next: number): ChainBreak | null {
  try {
    return checkRow(row, prev, next);
  } catch {
    return { ...placeOf(row), reason: "format" };
  }
}
