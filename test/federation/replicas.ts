/**
 * What the tests of federated memory share: kernels as replicas of one another, and the code of what is refused.
 * Never: asserts anything.
 */
import { type FederatedChange, KernelErrorException, type LedgerEvent, openTurn } from "../../src/index.ts";
import type { LedgerStore } from "../../src/ports/ledger-store.ts";
import { memoryLedger } from "../../src/testing/index.ts";
import { createTestKernel, type TestKernel, type TestKernelOptions } from "../../src/testing/test-kernel.ts";

/** The code a synchronous call is refused with. */
export function codeOf(call: () => unknown): string {
  try {
    call();
  } catch (thrown) {
    if (thrown instanceof KernelErrorException) return thrown.error.code;
    throw thrown;
  }
  return "nothing was refused";
}

export interface Replica extends AsyncDisposable {
  readonly t: TestKernel;
  readonly ledger: LedgerStore;
}

export async function openReplica(replica: string, options: TestKernelOptions = {}): Promise<Replica> {
  const ledger = options.ledger ?? memoryLedger();
  const replicas = { a: ["facts"], b: ["facts"], c: ["facts"] };
  const t = await createTestKernel({ federation: { replica, replicas }, ...options, ledger });
  return { t, ledger, [Symbol.asyncDispose]: () => t[Symbol.asyncDispose]() };
}

/** The tenant's own events, with the row each lies in. */
export async function tenantEvents(
  { ledger }: Replica,
  tenantId: string | number = 1,
): Promise<readonly (LedgerEvent & { readonly row: number })[]> {
  const rows = await ledger.read(`tenant:${JSON.stringify(tenantId)}`);
  return rows.flatMap((row, i) => openTurn(row).map((event) => ({ ...event, row: i })));
}

export const change = (more: Partial<FederatedChange> = {}): FederatedChange => ({
  origin: "a",
  key: "fact",
  value: "one",
  version: 1,
  capability: "facts",
  ...more,
});

/** Records by key, as changes. */
export async function recordsOf({ t }: Replica, tenantId: string | number = 1): Promise<readonly FederatedChange[]> {
  const found = await t.kernel.memory.changes({ tenant_id: tenantId });
  return found.toSorted((a, b) => (a.key < b.key ? -1 : 1));
}
