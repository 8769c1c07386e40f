/** A process that pays, one call after another, and may be killed in any of them: each goes on from the first again. */
import { Pool } from "pg";
import type { OperatorCall } from "../../src/contract/operator.ts";
import { hostTransaction } from "../../src/ledger/postgres/host-transaction.ts";

const [url = "", schema = "", count = "0"] = process.argv.slice(2);
const pool = new Pool({ connectionString: url, options: `-c search_path=${schema}`, max: 4 });
const pay = hostTransaction(pool, async (tx) => {
  await tx.query("UPDATE accounts SET cents = cents + 1");
  return {};
});
const { signal } = new AbortController();
for (let n = 0; n < Number(count); n += 1) {
  await pay({ idempotencyKey: `pay-${n}`, signal } as OperatorCall<never>);
  process.stdout.write(`${n}\n`);
}
await pool.end();
