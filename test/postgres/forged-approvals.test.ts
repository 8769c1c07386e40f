/**
 * A forged approval in Postgres, in a chain that was computed again, is found by the kernel and by the command line.
 */
import { Client } from "pg";
import { expect, it } from "vitest";
import type { TurnRow } from "../../src/contract/turn.ts";
import { runHere } from "../cli/command-line.ts";
import { keepAs } from "../cli/workplace.ts";
import { approverKeys, forgeries, keysFile, openOn, signIn } from "../ledgers/forged-approvals.ts";
import { makeTempFolder } from "../operators/temp-folder.ts";
import { freshLedger, freshSchema, serverUrl } from "./server.ts";

/** Writes the rows of one workflow into its ledger. */
async function forge(schema: string, rows: readonly TurnRow[]): Promise<void> {
  const client = new Client({ connectionString: serverUrl, options: `-c search_path=${schema}` });
  await client.connect();
  await client.query("ALTER TABLE events DISABLE TRIGGER ALL");
  for (const row of rows)
    await client.query(
      `UPDATE events SET envelope = $1, body = $2, body_hash = $3, prev_hash = $4, hash = $5
         WHERE stream = $6 AND first_sequence = $7`,
      [row.envelope, row.body, row.body_hash, row.prev_hash, row.hash, row.stream, row.first_sequence],
    );
  await client.end();
}

it.each(forgeries)("[GAT-02] a forged approval is damage in Postgres: %s", async (_what, change, reason) => {
  using folder = makeTempFolder();
  const schema = freshSchema();
  const forged = change(await signIn(freshLedger(schema)));
  await forge(schema, forged);
  const { kernel } = await openOn(freshLedger(schema));
  const place = { stream: forged[0]?.stream, reason };
  expect((await kernel.verify(undefined, { keys: approverKeys })).broken[0]).toMatchObject(place);
  expect((await kernel.verify(place.stream)).broken[0]).toMatchObject(place);
  await kernel.stop();
  const keys = keepAs(folder, "keys.json", keysFile);
  const shown = await runHere("verify", "--db", `${serverUrl}?schema=${schema}`, "--keys", keys, "--json");
  expect(JSON.parse(shown.out).broken[0]).toMatchObject(place);
});
