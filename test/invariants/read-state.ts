// Run as a process of its own: reads one workflow from a ledger file and prints all that a kernel can tell about it.
import { createKernel } from "../../src/index.ts";
import { sqliteLedger } from "../../src/ledger/sqlite/index.ts";
import { readAll } from "./read-all.ts";

const [path = "", id = ""] = process.argv.slice(2);
const kernel = await createKernel({ ledger: sqliteLedger({ path }), recover: false });
const all = await readAll(kernel, id);
await kernel.stop({ drainMs: 0 });
process.stdout.write(JSON.stringify(all));
