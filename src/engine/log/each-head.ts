/**
 * The heads of a selection one after another, however many there are.
 *
 * Owns: the way from one page of heads to the next. Never: folds, filters, or holds more than a page.
 */
import type { HeadFilter, LedgerStore, WorkflowHead } from "../../ports/ledger-store.ts";

const pageSize = 200;

/** In the order of ids. A head that changes while they are read may be told as it was or as it is. */
export async function* eachHead(
  store: Pick<LedgerStore, "heads">,
  filter: Omit<HeadFilter, "after" | "limit"> = {},
): AsyncGenerator<WorkflowHead, void, void> {
  let page = await store.heads({ ...filter, limit: pageSize });
  while (true) {
    yield* page;
    const last = page.at(-1);
    if (last === undefined || page.length < pageSize) return;
    page = await store.heads({ ...filter, limit: pageSize, after: last.workflow_id });
  }
}
