/** What each event says for itself, held against its workflow as it stood before it. */
import { isSamePrincipal, verdictOf } from "../../machines/quorum.ts";
import { digest } from "../../src/contract/digest.ts";
import { type EventPayloads, type LedgerEvent, payloadOf } from "../../src/contract/event.ts";
import { isOpenGate } from "../../src/contract/gate.ts";
import type { WorkflowRecord } from "../../src/contract/workflow.ts";

/** What is wrong with an event of this type; null where nothing is. */
type Noted = keyof EventPayloads;
type Judge<T extends Noted> = (payload: EventPayloads[T], event: LedgerEvent, record: WorkflowRecord) => string | null;

const judges: { readonly [T in Noted]?: Judge<T> } = {
  ACTION_FAILED: ({ final, pending }) => (final && pending ? "is final, and not known" : null),
  ACTION_RETRY_SCHEDULED({ attempt, due_at }, { timestamp }) {
    const pause = Date.parse(due_at) - Date.parse(timestamp);
    return pause < 1000 * 2 ** attempt ? `follows after ${pause} ms` : null;
  },
  ACTION_STARTED({ input, payload_hash }, _, { cancelling, compensating }) {
    if (cancelling !== null && compensating === null) return "is begun by a workflow that is being cancelled";
    return input !== undefined && digest(input) !== payload_hash ? "has another input than it says" : null;
  },
  GATE_DECISION_KEPT({ gate_id, principal }, _, { kept }) {
    const isSecond = kept
      .get(gate_id)
      ?.some(({ decided: { principal: by } }) => by !== null && isSamePrincipal(by, principal));
    return isSecond === true ? "is their second" : null;
  },
};

export function judgeNote(event: LedgerEvent, record: WorkflowRecord | null): readonly string[] {
  const { workflow_id, step_id } = event;
  const type = event.event_type as Noted;
  const why =
    record === null ? null : (judges[type] as Judge<typeof type> | undefined)?.(payloadOf(event, type), event, record);
  return why == null ? [] : [`noted: ${type} of ${step_id} in ${workflow_id} at ${event.sequence} ${why}`];
}

/** Once a row is written, no gate is open whose votes decide. */
export function judgeVotes(record: WorkflowRecord | null): readonly string[] {
  const decided = [...(record?.gates.values() ?? [])].filter((gate) => isOpenGate(gate) && verdictOf(gate) !== null);
  return decided.map(({ gate_id }) => `votes: ${gate_id} of ${record?.workflow_id} is open, and its votes decide`);
}
