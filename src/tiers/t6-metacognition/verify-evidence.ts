/**
 * Verifies an export without a kernel and without a ledger: rows, audit entries, closing line, and further checks
 * (signatures).
 *
 * Owns: finding the first broken entry. Never: reads a file, opens a ledger, runs anything.
 * 1.  Each line is exactly as it was written: a line that parses to the same value but is formatted differently is
 *     broken.
 * 2.  The audit is projected again from the rows and compared entry by entry.
 * 3.  An export that lacks the closing line of one of its streams was cut: the last present line of the stream is
 *     named. So is an export without any row.
 * 4.  The checks of a stream run in order; only the first that finds something is reported.
 */

import { damageIn, genesisHash, rowText } from "../../contract/chain.ts";
import { type EvidenceLine, followsEvidence, readExact } from "../../contract/evidence.ts";
import { evidenceShapes, findMisfit, rowShape } from "../../contract/row-shape.ts";
import { endOf, openTurns, streamStart, type TurnRow } from "../../contract/turn.ts";
import { yieldToEventLoop } from "../../engine/actors/yield-to-event-loop.ts";
import { projectAudit } from "./project-audit.ts";

/** The first broken entry of a stream: its line in the export (from 1), and its sequence in the ledger. */
export interface EvidenceBreak {
  readonly line: number;
  readonly stream: string;
  readonly sequence: number;
  /** The reason as for a ledger's chain; `audit`, `closing` or `cut` for evidence; or the reason of a further check. */
  readonly reason: string;
}

/** A value with its place in the bundle. */
export interface Placed<T> {
  readonly line: number;
  readonly content: T;
}

/** The lines of one stream in an export. */
export interface EvidenceSection {
  readonly stream: string;
  readonly rows: readonly Placed<TurnRow>[];
  readonly evidence: readonly Placed<EvidenceLine>[];
}

/** Checks one stream whose earlier checks found nothing. */
export type EvidenceCheck = (section: EvidenceSection) => readonly EvidenceBreak[] | Promise<readonly EvidenceBreak[]>;

/** The last link of a stream. */
export interface ChainHead {
  readonly stream: string;
  readonly sequence: number;
  readonly hash: string;
}

/** The result of the verification of an export. */
export interface EvidenceVerdict {
  readonly ok: boolean;
  /** The number of rows that were checked, including lines that are none. */
  readonly checked: number;
  /** The breaks by line: the first is the first broken entry. */
  readonly broken: readonly EvidenceBreak[];
  readonly heads: readonly ChainHead[];
  /** The number of lines beside the rows, by stream. */
  readonly evidence: readonly { readonly stream: string; readonly audit_entries: number; readonly reports: number }[];
}

/** The options of a check of evidence. */
export interface EvidenceOptions {
  /** Look at this stream only. */
  readonly stream?: string | undefined;
  /** Run after the chain, the evidence and the audit were found sound. */
  readonly checks?: readonly EvidenceCheck[] | undefined;
}

/**
 * Checks lines of any number of streams, mixed, each stream in its order; empty lines are counted and otherwise
 * ignored.
 */
export async function checkEvidence(
  lines: Iterable<string> | AsyncIterable<string>,
  { stream, checks = [] }: EvidenceOptions = {},
): Promise<EvidenceVerdict> {
  const { sections, broken, read } = await readSections(lines, stream);
  const checked = broken.length + sections.reduce((sum, { rows }) => sum + rows.length, 0);
  for (const section of sections) {
    await yieldToEventLoop();
    broken.push(...(await checkSection(section, [...standing, ...checks])));
  }
  if (sections.length === 0) broken.push({ line: read + 1, stream: stream ?? "", sequence: 0, reason: "cut" });
  broken.sort((a, b) => a.line - b.line);
  return {
    ok: broken.length === 0,
    checked,
    broken,
    heads: sections.flatMap(({ rows }) => headOf(rows)),
    evidence: sections.map(countEvidence),
  };
}

async function checkSection(
  section: EvidenceSection,
  checks: readonly EvidenceCheck[],
): Promise<readonly EvidenceBreak[]> {
  try {
    for (const check of checks) {
      const found = await check(section);
      if (found.length > 0) return found;
    }
    return [];
  } catch {
    // Lines that no kernel wrote may have any shape, even if their hashes match.
    const { stream, rows, evidence } = section;
    const [first] = [...rows, ...evidence];
    return [{ line: first?.line ?? 0, stream, sequence: rows[0]?.content.first_sequence ?? 0, reason: "format" }];
  }
}

interface Reading {
  readonly sections: readonly EvidenceSection[];
  readonly broken: EvidenceBreak[];
  /** The number of lines. */
  readonly read: number;
}

type MutableSection = { readonly [K in "rows" | "evidence"]: EvidenceSection[K][number][] } & {
  readonly stream: string;
};

async function readSections(
  lines: Iterable<string> | AsyncIterable<string>,
  only: string | undefined,
): Promise<Reading> {
  const sections = new Map<string, MutableSection>();
  const broken: EvidenceBreak[] = [];
  let line = 0;
  for await (const text of lines) {
    line += 1;
    if (text === "") continue;
    const content = readLine(text);
    const stream = content?.stream ?? "(unreadable)";
    if (content !== null && only !== undefined && stream !== only) continue;
    const section = sections.get(stream) ?? { stream, rows: [], evidence: [] };
    // A row precedes the evidence about it.
    if (content === null || (!("evidence" in content) && section.evidence.length > 0))
      broken.push({ line, stream, sequence: content === null ? line : content.first_sequence, reason: "format" });
    else if ("evidence" in content) section.evidence.push({ line, content });
    else section.rows.push({ line, content });
    if (content !== null) sections.set(stream, section);
  }
  return { sections: [...sections.values()], broken, read: line };
}

/** Reads a row or a line of evidence; null for anything else. */
function readLine(text: string): TurnRow | EvidenceLine | null {
  const found = readExact(text);
  if (found === null) return null;
  if ("evidence" in found) return isEvidence(found) ? found : null;
  const isRow = findMisfit(found, rowShape) === null && rowText(found as TurnRow) === text;
  return isRow ? (found as TurnRow) : null;
}

/**
 * Returns whether a line has the members of its kind, and its hash at the end. The content of an audit entry is
 * compared with the rows.
 */
function isEvidence(line: object): line is EvidenceLine {
  const shape = evidenceShapes.get((line as { readonly evidence?: unknown }).evidence);
  return shape !== undefined && findMisfit(line, shape) === null && Object.keys(line).at(-1) === "hash";
}

/** Checks rows as any reader of a ledger does: hashes, links, positions, formatting and content. */
function checkRows({ rows }: EvidenceSection): readonly EvidenceBreak[] {
  let end = streamStart;
  for (const { line, content } of rows)
    try {
      openTurns([content], end);
      end = endOf(content);
    } catch (thrown) {
      const { stream, sequence, reason } = damageIn(content, thrown);
      return [{ line, stream, sequence, reason }];
    }
  return [];
}

/** Links, and the closing line at the end of them. */
function checkClosing({ stream, rows, evidence }: EvidenceSection): readonly EvidenceBreak[] {
  const head = rows.at(-1)?.content;
  const sequence = head?.last_sequence ?? 0;
  let prev = head?.hash ?? genesisHash;
  for (const [i, { line, content }] of evidence.entries()) {
    if (!followsEvidence(prev, content)) return [{ line, stream, sequence, reason: "hash" }];
    if (content.evidence === "closing" && i < evidence.length - 1)
      return [{ line, stream, sequence, reason: "closing" }];
    prev = content.hash;
  }
  const last = [...rows, ...evidence].at(-1);
  const place = { line: last?.line ?? 0, stream, sequence };
  const end = evidence.at(-1)?.content;
  if (head === undefined || end?.evidence !== "closing") return [{ ...place, reason: "cut" }];
  const { audit_entries, reports } = countEvidence({ stream, rows, evidence });
  const isCounted = end.rows === rows.length && end.audit_entries === audit_entries && end.reports === reports;
  const isHead = end.head.hash === head.hash && end.head.sequence === sequence;
  return isCounted && isHead ? [] : [{ ...place, reason: "closing" }];
}

/** Compares the audit entries of the export with the decisions in its rows. */
function checkAudit({ stream, rows, evidence }: EvidenceSection): readonly EvidenceBreak[] {
  const events = openTurns(rows.map(({ content }) => content));
  const places = new Map(events.map(({ event_id, sequence }) => [event_id, sequence]));
  const expected = projectAudit(events);
  const reported = evidence.flatMap(({ line, content }) =>
    content.evidence === "audit_entry" ? [{ line, entry: content.entry }] : [],
  );
  const wrong = reported.findIndex(({ entry }, i) => JSON.stringify(entry) !== JSON.stringify(expected[i]));
  if (wrong === -1 && reported.length === expected.length) return [];
  const { line = evidence.at(-1)?.line ?? 0, entry = expected[reported.length] } = reported[wrong] ?? {};
  return [{ line, stream, sequence: places.get(entry?.interaction_id ?? "") ?? 0, reason: "audit" }];
}

const standing: readonly EvidenceCheck[] = [checkRows, checkClosing, checkAudit];

function headOf(rows: EvidenceSection["rows"]): readonly ChainHead[] {
  const last = rows.at(-1)?.content;
  return last === undefined ? [] : [{ stream: last.stream, sequence: last.last_sequence, hash: last.hash }];
}

function countEvidence({ stream, evidence }: EvidenceSection): EvidenceVerdict["evidence"][number] {
  const count = (kind: EvidenceLine["evidence"]): number => evidence.filter((e) => e.content.evidence === kind).length;
  return { stream, audit_entries: count("audit_entry"), reports: count("evaluation_report") };
}
