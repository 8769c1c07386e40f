/**
 * A tenant's own log: records outside any workflow (memory and documents of a host, changes of other replicas).
 *
 * 1.  One stream per tenant, chained like a workflow's. Writers of this process take turns; one of another process
 *     conflicts and tries again.
 * 2.  A turn is one row. It is decided after the stream's end was read, so that a conflicting writer decides again from
 *     the new state.
 */

import { genesisHash } from "../../contract/chain.ts";
import { raise } from "../../contract/error.ts";
import { kernelError } from "../../contract/error-codes.ts";
import type { Actor, EventDraft } from "../../contract/event.ts";
import { refOf } from "../../contract/gate-vote.ts";
import { type IdSource, idAfter } from "../../contract/ids.ts";
import type { JsonObject } from "../../contract/json.ts";
import { moduleRef } from "../../contract/module-ref.ts";
import { sealTurn, type TurnRow } from "../../contract/turn.ts";
import type { LedgerStore } from "../../ports/ledger-store.ts";
import type { Runtime } from "../actors/runtime.ts";
import { recordsOf } from "./derive-indexes.ts";
import type { LedgerWriter } from "./ledger-writer.ts";

interface TenantServices {
  readonly store: LedgerStore;
  readonly writer: LedgerWriter;
  readonly runtime: Runtime;
}

/** The events to append, and the answer once they are appended. */
export interface TenantTurn<T> {
  readonly drafts: readonly EventDraft[];
  readonly answer: T;
}

export type TenantAppend = <T>(
  tenantId: string | number,
  decide: () => TenantTurn<T> | Promise<TenantTurn<T>>,
  actor?: Actor,
) => Promise<{ readonly event_ids: readonly string[]; readonly answer: T }>;

const tenantStream = (tenantId: string | number): string => `tenant:${JSON.stringify(tenantId)}`;
const host: Actor = { type: "host", id: "host" };
const maxTries = 32;

/** Appends the drafts of `decide` to the tenant's log, in one row; nothing if there are none. */
export function createTenantAppend(services: TenantServices): TenantAppend {
  const ends = new Map<string, Promise<unknown>>();
  return (tenantId, decide, actor = host) => {
    const stream = tenantStream(tenantId);
    const turn = () => appendTurn(services, tenantId, { decide, actor });
    const mine = (ends.get(stream) ?? Promise.resolve()).then(turn, turn);
    ends.set(stream, mine);
    const leave = (): void => {
      if (ends.get(stream) === mine) ends.delete(stream);
    };
    mine.then(leave, leave);
    return mine;
  };
}

async function appendTurn<T>(
  { store, writer, runtime }: TenantServices,
  tenantId: string | number,
  { decide, actor }: { readonly decide: () => TenantTurn<T> | Promise<TenantTurn<T>>; readonly actor: Actor },
): Promise<{ readonly event_ids: readonly string[]; readonly answer: T }> {
  for (let tries = 0; tries < maxTries; tries += 1) {
    const last = await store.last(tenantStream(tenantId));
    const { drafts, answer } = await decide();
    const event_ids = drawIds(runtime.ids, drafts.length);
    if (drafts.length === 0) return { event_ids, answer };
    const now = runtime.clock.now();
    const row = sealRow({
      tenantId,
      drafts,
      event_ids,
      actor,
      now,
      last,
      correlation: runtime.ids.next("correlation"),
    });
    const receipt = await writer.append(() => ({ tenant_id: tenantId, row, now, indexes: recordsOf(drafts) }));
    if (receipt.ok) return { event_ids, answer };
  }
  return raise(kernelError("T0_LEDGER_CONFLICT", "the tenant's log kept changing", moduleRef(0, "ledger", "append")));
}

/** Draws the ids of a row's events. */
function drawIds(ids: IdSource, count: number): readonly string[] {
  const drawn: string[] = [];
  for (let last: string | null = null; drawn.length < count; drawn.push(last))
    last = (last === null ? null : idAfter(last)) ?? ids.next("event");
  return drawn;
}

interface Sealing {
  readonly tenantId: string | number;
  readonly drafts: readonly EventDraft[];
  readonly event_ids: readonly string[];
  readonly actor: Actor;
  readonly now: number;
  readonly last: TurnRow | null;
  readonly correlation: string;
}

function sealRow({ tenantId, drafts, event_ids, actor, now, last, correlation }: Sealing): TurnRow {
  const envelope = {
    stream: tenantStream(tenantId),
    tenant_id: tenantId,
    workflow_id: null,
    thread_id: null,
    intent_id: null,
    plan_id: null,
    correlation_id: correlation,
    actor: refOf(actor),
    now,
    first: (last?.last_sequence ?? 0) + 1,
    count: drafts.length,
  };
  const events = drafts.map(({ type, payload }, i) => ({
    id: event_ids[i] as string,
    type,
    step: null,
    payload: payload as unknown as JsonObject,
  }));
  return sealTurn(envelope, events, last?.hash ?? genesisHash);
}
