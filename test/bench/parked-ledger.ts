/**
 * A ledger with many parked workflows. Some run to their gates as any workflow does; what was appended for them is
 * appended again, through the same store, under ids of its own: row by row what the kernel writes, chains and indexes
 * too.
 *
 * Owns: the ledger's contents. Never: opens it for the measuring.
 */
import { z } from "zod";
import { seededRandom } from "../../src/adapters/seeded-random.ts";
import { chainHash, genesisHash } from "../../src/contract/chain.ts";
import { sha256 } from "../../src/contract/digest.ts";
import { createIdSource } from "../../src/contract/ids.ts";
import { createKernel, defineCapability, defineOperator, type Kernel } from "../../src/index.ts";
import type { Append, LedgerStore } from "../../src/ports/ledger-store.ts";
import { ledgerAt, type Place } from "./place.ts";

const step = defineOperator({
  name: "Soak.Step",
  input: z.object({ order: z.string() }),
  output: z.object({ order: z.string(), ok: z.boolean() }),
  run: ({ input: { order } }) => ({ order, ok: true }),
});

export const intentTypes = ["Soak.Order.Check", "Soak.Order.Refund", "Soak.Order.Ship"] as const;

export const soakCapabilities = intentTypes.map((intentType) =>
  defineCapability({
    intentType,
    version: "1.0",
    input: z.object({ order: z.string() }),
    operators: [step],
    plan: ({ input: { order } }) => ({
      reasoning: "look, then ask",
      steps: [
        { step_id: "s1", name: "Look it up", operator: "Soak.Step", params: { order } },
        {
          step_id: "s2",
          name: "Do it",
          operator: "Soak.Step",
          params: { order },
          depends_on: ["s1"],
          gate: { reason: "a person looks at it" },
        },
      ],
    }),
  }),
);

/** Every tenth workflow is the first tenant's, who is asked; among its principals they go round. */
export const callerOf = (n: number) =>
  ({ tenant_id: 1 + (n % 10), principal: { type: "human", id: 1 + (n % 97), role: "user" } }) as const;

/** Runs `count` workflows to their gates; gives their ids. */
export async function parkMany(kernel: Kernel, count: number, from = 0): Promise<readonly string[]> {
  const ids: string[] = new Array(count);
  let next = 0;
  const park = async (): Promise<void> => {
    for (let i = next++; i < count; i = next++) {
      const n = from + i;
      const intent_type = intentTypes[n % intentTypes.length] as string;
      const intent_hint = { intent_type, inputs: { order: `order-${n}` } };
      ids[i] = (await kernel.submit({ ...callerOf(n), input: { mode: "data" }, intent_hint })).workflow_id;
      await kernel.settled(ids[i] as string);
    }
  };
  await Promise.all(Array.from({ length: 32 }, park));
  return ids;
}

/** Fills a new ledger with `count` parked workflows, of which at most `originals` are run. */
export async function fillParked(place: Place, { count, originals }: { count: number; originals: number }) {
  const { ledger, taken } = recording(ledgerAt(place));
  const kernel = await createKernel({ ledger, capabilities: soakCapabilities });
  const run = Math.min(count, originals);
  const ids = await parkMany(kernel, run);
  await kernel.stop();
  await appendCopies(place, { originals: ids.map((id) => taken.get(id) ?? []), count });
}

interface Copied {
  /** The entries of each workflow that has run. */
  readonly originals: readonly (readonly Append[])[];
  /** The number of workflows that the ledger is to have, those that have run included. */
  readonly count: number;
}

/** Appends copies of workflows, one after another, under ids of their own. */
export async function appendCopies(place: Place, { originals, count }: Copied): Promise<void> {
  const texts = originals.map((entries) => JSON.stringify(entries));
  const store = ledgerAt(place);
  await store.open();
  const draw = createIdSource({ now: Date.now, random: seededRandom(count) });
  for (let made = texts.length; made < count; ) {
    const batch: Append[] = [];
    for (let i = 0; i < 64 && made < count; i += 1, made += 1)
      batch.push(...copyOf(texts[made % texts.length] as string, () => draw.next("x").slice(2)));
    const refused = (await store.append(batch)).find((receipt) => !receipt.ok);
    if (refused !== undefined) throw new Error(`a copy was refused: ${JSON.stringify(refused)}`);
  }
  await store.close();
}

/** Keeps what is appended, by stream. */
export function recording(store: LedgerStore): { readonly ledger: LedgerStore; readonly taken: Map<string, Append[]> } {
  const taken = new Map<string, Append[]>();
  const append: LedgerStore["append"] = async (batch) => {
    for (const entry of batch) taken.set(entry.row.stream, [...(taken.get(entry.row.stream) ?? []), entry]);
    return store.append(batch);
  };
  return { ledger: { ...store, append }, taken };
}

const ulids = /(?<![0-9A-Za-z])[0-7][0-9A-HJKMNP-TV-Z]{25}(?![0-9A-Za-z])/g;

/** The entries of one workflow with every id exchanged for a new one, the chain sealed anew. */
function copyOf(text: string, draw: () => string): readonly Append[] {
  const ids = new Map<string, string>();
  const exchanged = text.replace(ulids, (old) => {
    const known = ids.get(old) ?? draw();
    ids.set(old, known);
    return known;
  });
  let prev = genesisHash;
  return (JSON.parse(exchanged) as Append[]).map((entry) => {
    const body_hash = sha256(entry.row.body ?? "");
    const hash = chainHash(prev, entry.row.envelope, body_hash);
    const row = { ...entry.row, body_hash, prev_hash: prev, hash };
    prev = hash;
    return { ...entry, row };
  });
}
