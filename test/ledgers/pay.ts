/** A process that pays into a SQLite file, one call after another, and may be killed in any of them. */
import { DatabaseSync } from "node:sqlite";
import type { OperatorCall } from "../../src/contract/operator.ts";
import { hostTransaction } from "../../src/ledger/sqlite/host-transaction.ts";

const [path = "", count = "0"] = process.argv.slice(2);
const pay = hostTransaction(new DatabaseSync(path, { timeout: 2000 }), (tx) => {
  tx.exec("UPDATE accounts SET cents = cents + 1");
  return {};
});
const { signal } = new AbortController();
for (let n = 0; n < Number(count); n += 1) {
  await pay({ idempotencyKey: `pay-${n}`, signal } as OperatorCall<never>);
  process.stdout.write(`${n}\n`);
}
