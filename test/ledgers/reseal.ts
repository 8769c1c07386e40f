/** Rows as somebody would write them who can compute hashes: contents changed, the chain sound. */
import { genesisHash, sealTexts, type TurnEnvelope, type TurnEvent, type TurnRow } from "../../src/contract/turn.ts";

export interface Forgery {
  readonly envelope?: (envelope: TurnEnvelope) => object;
  readonly event?: (event: TurnEvent) => object | null;
}

export function reseal(rows: readonly TurnRow[], { envelope = same, event = same }: Forgery): readonly TurnRow[] {
  let prev = genesisHash;
  return rows.map((row) => {
    const events = JSON.parse(row.body ?? "[]") as TurnEvent[];
    const told = { ...JSON.parse(row.envelope), ...envelope(JSON.parse(row.envelope) as TurnEnvelope) } as TurnEnvelope;
    const sealed = sealTexts(
      told,
      events.map((one) => JSON.stringify(event(one))),
      prev,
    );
    prev = sealed.hash;
    return sealed;
  });
}

const same = <T>(value: T): T => value;
