/** A place for a ledger file that goes away with the test. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

export interface LedgerFolder extends AsyncDisposable {
  readonly path: string;
}

export async function ledgerFolder(): Promise<LedgerFolder> {
  const folder = await mkdtemp(join(tmpdir(), "actors-"));
  return {
    path: join(folder, "ledger.db"),
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
  };
}
