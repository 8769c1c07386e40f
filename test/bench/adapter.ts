/**
 * The kernel as a peer of an outside harness: node --expose-gc test/bench/adapter.ts <harness.mjs>, where the harness
 * exports `measure({ name, durability, plain, gateStart, gateApprove, ms, parked })`. POSTGRES (a url) puts its ledger
 * there; SYNCHRONOUS=normal leaves out the syncs of a file, as beside a peer that makes none; DURABILITY=effects makes
 * those alone that an answer, a decision or an effect needs.
 */
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { ledgerAt } from "./place.ts";
import { openWorkload } from "./workload.ts";

const [, , harness] = process.argv;
if (harness === undefined) {
  console.error("usage: node --expose-gc test/bench/adapter.ts <path to harness.mjs>");
  process.exit(2);
}
const { measure } = (await import(pathToFileURL(resolve(harness)).href)) as {
  readonly measure: (options: object) => Promise<unknown>;
};
const url = process.env["POSTGRES"];
const path = join(mkdtempSync(join(tmpdir(), "countersign-peer-")), "peer.db");
const synchronous = process.env["SYNCHRONOUS"] === "normal" ? "normal" : "full";
const ledger = ledgerAt(url === undefined ? { path, synchronous } : { url, schema: `peer_${process.pid}` });
const durability = process.env["DURABILITY"] === "effects" ? "effects" : "full";
const w = await openWorkload(ledger, { durability });
const parked = new Map<string, string>();
await measure({
  name: "countersign",
  durability: `${durability}, ${url === undefined ? `sqlite WAL synchronous=${synchronous}` : "postgres"}`,
  parked: Number(process.env["PARKED"] ?? 0),
  ms: Number(process.env["MS"] ?? 1200),
  steps: 5,
  plain: (id: string) => w.plain(id),
  gateStart: async (id: string) => void parked.set(id, await w.gateStart(id)),
  gateApprove: async (id: string) => {
    const workflowId = parked.get(id) ?? "";
    parked.delete(id);
    return w.gateApprove(workflowId);
  },
});
await w.kernel.stop();
