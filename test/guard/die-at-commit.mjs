// Loaded before a guard: kills its process at a commit of the ledger. The file that DIE_AT names holds a text that the
// rows of that commit have, and the side of it: "ACTION_STARTED before", "ACTION_STARTED after".
import { existsSync, readFileSync } from "node:fs";
import { StatementSync } from "node:sqlite";

const { run, get, all } = StatementSync.prototype;
const hasText = (value, text) => String(value instanceof Uint8Array ? Buffer.from(value) : value).includes(text);
let isNear = false;

const point = () => (existsSync(process.env.DIE_AT) ? readFileSync(process.env.DIE_AT, "utf8").split(" ") : null);
const die = () => process.kill(process.pid, "SIGKILL");

const watching = (method) =>
  function (...values) {
    const at = point();
    const isCommit = this.sourceSQL === "COMMIT";
    const isRead = /^\s*SELECT/i.test(this.sourceSQL);
    if (at !== null && !isCommit && !isRead && values.some((value) => hasText(value, at[0]))) isNear = true;
    if (isCommit && isNear && at[1] === "before") die();
    const result = method.apply(this, values);
    if (isCommit && isNear) die();
    return result;
  };
Object.assign(StatementSync.prototype, { run: watching(run), get: watching(get), all: watching(all) });
