/** A store whose process dies at a planned commit: nothing of it is answered from then on. */
import type { LedgerStore } from "../../src/ports/ledger-store.ts";
import { wrapMembers } from "../../src/testing/wrap-members.ts";
import { never } from "./shared-file.ts";

/** A store that is reached until its process dies at a planned commit, before or after it. */
export function mortal(store: LedgerStore) {
  const fate = { left: Number.POSITIVE_INFINITY, side: "before", isDead: false };
  const ledger: LedgerStore = {
    ...wrapMembers(store, ({ make }) => (fate.isDead ? never() : make())),
    async append(batch) {
      if (fate.isDead) return never();
      fate.left -= 1;
      if (fate.left > 0) return store.append(batch);
      fate.isDead = true;
      if (fate.side === "after") await store.append(batch);
      return never();
    },
  };
  return { fate, ledger };
}
