/**
 * Verifies an export: its rows, its audit, its end, and the signed decisions in it.
 *
 * Never: opens a ledger, runs anything.
 */
import { z } from "zod";
import { verifySignatures } from "../adapters/verify-signatures.ts";
import { hostFunction } from "../contract/host-object.ts";
import { readStrictly } from "../contract/known-keys.ts";
import { moduleRef } from "../contract/module-ref.ts";
import { openTurns } from "../contract/turn.ts";
import type { ApproverKeys } from "../ports/signature-verifier.ts";
import { checkEvidence, type EvidenceCheck, type EvidenceVerdict } from "../tiers/t6-metacognition/verify-evidence.ts";

const Options = z.strictObject({
  /** Look at this stream only. */
  stream: z.string().optional(),
  /** Run after the chain, the evidence and the audit were found sound. */
  checks: z.array(hostFunction<EvidenceCheck>()).readonly().default([]),
  /** The keys that count; by default those that are stored beside the signatures. */
  keys: hostFunction<ApproverKeys>().optional(),
});
/** The options of the verification of an export. */
export interface ExportOptions extends Readonly<z.input<typeof Options>> {}

const source = moduleRef(0, "kernel", "verifyEvidence");

/**
 * Verifies an export from its lines, as `kernel.evidence` or `countersign export` wrote them. The lines may belong to
 * several streams, mixed, each stream in its order; empty lines are counted and otherwise ignored.
 */
export function verifyEvidence(
  lines: Iterable<string> | AsyncIterable<string>,
  options: ExportOptions = {},
): Promise<EvidenceVerdict> {
  const { keys, stream, checks } = readStrictly(Options, options, { what: "verifyEvidence", source });
  return checkEvidence(lines, { stream, checks: [signaturesOf(keys), ...checks] });
}

/** Checks the signed decisions of a stream that is otherwise intact; each is named with the line that holds it. */
const signaturesOf =
  (keys: ApproverKeys | undefined): EvidenceCheck =>
  async ({ rows }) => {
    const broken = await verifySignatures(openTurns(rows.map(({ content }) => content)), { keys });
    const lineOf = (sequence: number): number =>
      rows.find(({ content }) => content.last_sequence >= sequence)?.line ?? 0;
    return broken.map(({ stream, sequence, reason }) => ({ line: lineOf(sequence), stream, sequence, reason }));
  };
