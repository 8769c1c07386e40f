/** What the kernel finds in the files that the guide's verifiers look at. */
import { readFileSync } from "node:fs";
import { readLines } from "../../src/faces/cli/read-lines.ts";
import { createKernel, type EvidenceVerdict, type Verification, verifyEvidence } from "../../src/index.ts";
import { sqliteLedger } from "../../src/ledger/sqlite/index.ts";

/** Verifies a ledger file as `countersign verify` does. */
export async function verifyWithKernel(file: string): Promise<Verification> {
  const kernel = await createKernel({ ledger: sqliteLedger({ path: file }), recover: false });
  try {
    return await kernel.verify();
  } finally {
    await kernel.stop();
  }
}

async function* chunkOf(file: string): AsyncGenerator<Buffer> {
  yield readFileSync(file);
}

/** Verifies an export as `countersign verify --import` does. */
export const verifyExport = (file: string): Promise<EvidenceVerdict> => verifyEvidence(readLines(chunkOf(file)));
