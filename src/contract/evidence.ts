/**
 * Evidence: the records of an export beside the ledger rows, so that a third party receives both together (RLH-05). One
 * JSON line each: the rows unchanged, then the audit entries, the evaluation reports and a closing line.
 *
 * 1.  A line of evidence has the key `evidence`, which no row has.
 * 2.  Each is chained to the one before it, the first to the head of the rows: hash = H(previous ‖ text without hash).
 * 3.  An export names its own end: the closing line of each stream says how many lines there are, and the sequence and
 *     hash of the last row. Without one the export was cut.
 */
import { z } from "zod";
import { AuditEntry } from "./audit.ts";
import { sha256 } from "./digest.ts";
import { JsonValue } from "./json.ts";
import { readSpelled } from "./spelling.ts";

const count = z.int().nonnegative();
const hash = z.string().regex(/^[0-9a-f]{64}$/);

/** A line of an export that is no row: an audit entry, a report, or the closing line. */
export const EvidenceLine = z.discriminatedUnion("evidence", [
  z.strictObject({ evidence: z.literal("audit_entry"), stream: z.string(), entry: AuditEntry, hash }),
  z.strictObject({
    evidence: z.literal("evaluation_report"),
    stream: z.string(),
    report_id: z.string(),
    report: JsonValue,
    hash,
  }),
  z.strictObject({
    evidence: z.literal("closing"),
    stream: z.string(),
    rows: count,
    audit_entries: count,
    reports: count,
    head: z.strictObject({ sequence: count, hash }),
    hash,
  }),
]);
export type EvidenceLine = z.infer<typeof EvidenceLine>;

type Unsealed<L> = L extends EvidenceLine ? Omit<L, "hash"> : never;
/** A line before it is chained. */
export type EvidenceContent = Unsealed<EvidenceLine>;

/** Returns the line with its hash; `previous` is the hash of the line, or row, before it. */
export const sealEvidence = (previous: string, content: EvidenceContent): EvidenceLine =>
  ({ ...content, hash: sha256(previous + JSON.stringify(content)) }) as EvidenceLine;

/** Returns whether a line follows the one whose hash is `previous`. */
export const followsEvidence = (previous: string, { hash: own, ...content }: EvidenceLine): boolean =>
  sealEvidence(previous, content as EvidenceContent).hash === own;

/** Reads a line of evidence that is formatted as it was written, with its hash at the end; null for anything else. */
export function readEvidence(text: string): EvidenceLine | null {
  const found = readExact(text);
  if (!EvidenceLine.safeParse(found).success) return null;
  const { hash: own, ...content } = found as EvidenceLine;
  return JSON.stringify({ ...content, hash: own }) === text ? (found as EvidenceLine) : null;
}

/** Returns the object of a line of an export that is formatted as it was written; null for anything else. */
export function readExact(text: string): object | null {
  const { content, damage } = readSpelled(text);
  return damage === null && typeof content === "object" ? content : null;
}
