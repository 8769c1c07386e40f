/** Rows that no kernel wrote, though their hashes fit: named where they stand, in evidence and in a plain chain. */
import { describe, expect, it } from "vitest";
import { chainHash, genesisHash, verifyChain } from "../../src/contract/chain.ts";
import { sealTurn, type TurnRow } from "../../src/contract/turn.ts";
import { verifyEvidence } from "../../src/index.ts";

const envelope = { stream: "wf_x", tenant_id: 1, now: 1, first: 1, count: 1 };
const event = { id: "evt_1", type: "STEP_STARTED", step: null, payload: {} } as const;
const sound = sealTurn(envelope as never, [event], genesisHash);

describe("a row whose envelope is no JSON", () => {
  it("[RLH-05] is a break of its form, at its own line and sequence", async () => {
    const half = "{half";
    const foreign: TurnRow = { ...sound, envelope: half, hash: chainHash(sound.prev_hash, half, sound.body_hash) };
    expect(verifyChain([foreign])).toEqual({ stream: "wf_x", sequence: 1, reason: "format" });
    const { ok, broken } = await verifyEvidence([JSON.stringify(foreign)]);
    expect(ok).toBe(false);
    expect(broken).toEqual([{ line: 1, stream: "wf_x", sequence: 1, reason: "format" }]);
  });
});
