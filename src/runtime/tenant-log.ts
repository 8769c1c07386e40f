/**
 * A tenant's own log: what is recorded outside any workflow (memory and documents that a host feeds in).
 *
 * T1  One stream per tenant, chained like a workflow's; two writers clash and try again.
 */
import { KernelErrorException } from "../contract/error.ts";
import { kernelError } from "../contract/error-codes.ts";
import type { EventDraft } from "../contract/event.ts";
import type { JsonObject } from "../contract/json.ts";
import { moduleRef } from "../contract/module-ref.ts";
import { genesisHash, sealTurn, turnSchemaVersion } from "../contract/turn.ts";
import type { AppendIndexes, LedgerStore } from "../ports/ledger-store.ts";
import type { Kit } from "./kit.ts";
import type { LedgerWriter } from "./ledger-writer.ts";

const tenantStream = (tenantId: string | number): string => `tenant:${JSON.stringify(tenantId)}`;

/** Appends one event to the tenant's log; gives its id. */
export async function appendToTenant(
  services: { readonly store: LedgerStore; readonly writer: LedgerWriter; readonly kit: Kit },
  tenantId: string | number,
  entry: { readonly draft: EventDraft; readonly indexes: AppendIndexes },
): Promise<string> {
  const { store, writer, kit } = services;
  const stream = tenantStream(tenantId);
  for (let tries = 0; tries < 32; tries += 1) {
    const last = await store.last(stream);
    const now = kit.clock.now();
    const id = kit.ids.next("event");
    const envelope = {
      v: turnSchemaVersion,
      stream,
      tenant_id: tenantId,
      workflow_id: null,
      thread_id: null,
      intent_id: null,
      plan_id: null,
      correlation_id: kit.ids.next("correlation"),
      actor: { type: "host", id: "host" },
      now,
      first: (last?.last_sequence ?? 0) + 1,
      count: 1,
    };
    const row = sealTurn(
      envelope,
      [{ id, type: entry.draft.type, step: null, payload: entry.draft.payload as unknown as JsonObject }],
      last?.hash ?? genesisHash,
    );
    const receipt = await writer.append(() => ({ tenant_id: tenantId, row, now, indexes: entry.indexes }));
    if (receipt.ok) return id;
  }
  throw new KernelErrorException(
    kernelError("T0_LEDGER_CONFLICT", "the tenant's log kept changing", moduleRef(0, "ledger", "append")),
  );
}
