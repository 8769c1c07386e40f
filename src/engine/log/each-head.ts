/**
 * Iterates over the heads of a selection, however many there are.
 *
 * Owns: the paging of heads. Never: folds, filters, or holds more than a page.
 */
import type { HeadFilter, LedgerStore, WorkflowHead } from "../../ports/ledger-store.ts";

const pageSize = 200;

/** Yields heads in the order of ids. A head that changes during the iteration may be yielded in either state. */
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
