/** The key of a question names all that the question shows: an answer to one is none to another. */
import { describe, expect, it } from "vitest";
import { plainGate } from "../../src/contract/events.ts";
import type { Gate } from "../../src/contract/gate.ts";
import { questionKey } from "../../src/protocol/name-question.ts";

const gate = {
  ...plainGate,
  gate_id: "gate-s1",
  opened_at: "2026-01-01T00:00:00.000Z",
  payload_digest: "d1",
  basis_digest: "b1",
} as unknown as Gate;
const vote = { decision: "approve", advisory: false, apply_targets: ["board"] };

describe("the key of a question", () => {
  it.each<readonly [string, object]>([
    ["another gate", { gate_id: "gate-s2" }],
    ["the gate opened again", { opened_at: "2026-01-01T00:00:00.001Z" }],
    ["another payload", { payload_digest: "d2" }],
    ["another basis", { basis_digest: "b2" }],
    ["no basis", { basis_digest: undefined }],
    ["targets that a vote has named", { votes: [vote] }],
  ])("is another one for %s", (_what, more) => {
    expect(questionKey({ ...gate, ...more } as Gate)).not.toBe(questionKey(gate));
  });

  it("is another one for other targets, and the same for what does not count", () => {
    const on = (...votes: readonly object[]) => questionKey({ ...gate, votes } as unknown as Gate);
    expect(on(vote)).not.toBe(on({ ...vote, apply_targets: ["archive"] }));
    expect(on({ ...vote, advisory: true })).toBe(questionKey(gate));
    expect(questionKey({ ...gate, preview: "other words", title: "other" } as Gate)).toBe(questionKey(gate));
  });
});
