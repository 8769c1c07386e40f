/**
 * Composes the export of a workflow as evidence: its ledger rows unchanged, then the audit entries, the evaluation
 * reports, and the closing line (RLH-05).
 *
 * 1.  The audit entries are projected from the very rows that are exported.
 */

import { genesisHash, rowText } from "../../contract/chain.ts";
import { type EvidenceLine, sealEvidence } from "../../contract/evidence.ts";
import type { Json } from "../../contract/json.ts";
import { openTurns, type TurnRow } from "../../contract/turn.ts";
import { projectAudit } from "./project-audit.ts";

/** An opaque report with the id that it is kept under. */
export interface EvaluationReport {
  readonly report_id: string;
  readonly report: Json;
}

/** Returns JSON Lines, without their line ends. */
export function composeEvidence(rows: readonly TurnRow[], reports: readonly EvaluationReport[]): readonly string[] {
  const head = rows.at(-1);
  const stream = head?.stream ?? "";
  const entries = projectAudit(openTurns(rows));
  const contents = [
    ...entries.map((entry) => ({ evidence: "audit_entry", stream, entry }) as const),
    ...reports.map(({ report_id, report }) => ({ evidence: "evaluation_report", stream, report_id, report }) as const),
    {
      evidence: "closing",
      stream,
      rows: rows.length,
      audit_entries: entries.length,
      reports: reports.length,
      head: { sequence: head?.last_sequence ?? 0, hash: head?.hash ?? genesisHash },
    } as const,
  ];
  const sealed: EvidenceLine[] = [];
  for (const content of contents) sealed.push(sealEvidence(sealed.at(-1)?.hash ?? head?.hash ?? genesisHash, content));
  return [...rows.map(rowText), ...sealed.map((line) => JSON.stringify(line))];
}
