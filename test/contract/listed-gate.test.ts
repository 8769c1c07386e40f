/** What lists show of a gate and of a workflow is bounded, whatever they hold, and says what it leaves out. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { cutText } from "../../src/contract/cut-text.ts";
import type { Gate } from "../../src/contract/gate.ts";
import type { Json } from "../../src/contract/json.ts";
import { CutGate, listGate, maxListedGateChars } from "../../src/contract/listed-gate.ts";
import { maxTitleChars, titleOf } from "../../src/contract/workflow-summary.ts";
import { testGate, testStream } from "../../src/testing/ledger-turns.ts";

const small = testGate(testStream(1), "a");
const long = fc.string({ unit: "binary", maxLength: 3000 });
const many = <T>(item: fc.Arbitrary<T>) => fc.array(item, { maxLength: 60 });
const person = fc.record({ type: fc.string({ minLength: 1, maxLength: 64 }), id: fc.string({ maxLength: 256 }) });
const drawn: fc.Arbitrary<Partial<Gate>> = fc.record(
  {
    title: long,
    summary: long,
    facts: many(fc.record({ label: long, format: fc.constant("text" as const), value: fc.oneof(long, many(long)) })),
    preview: long,
    diff: fc.option(long),
    payload: fc.jsonValue() as fc.Arbitrary<Json>,
    reasons: many(fc.record({ source: fc.constant("policy" as const), rule: long, reason: long })),
    consequences: fc.record({ approve: long, reject: long, edit: long }),
    roles: fc.option(many(long)),
    approvers: fc.option(many(person)),
    delegations: many(fc.record({ from: person, to: person, expires_at: fc.constant("2026-01-01T00:00:00.000Z") })),
    revised_from: many(fc.string({ maxLength: 64 })),
    requesters: many(person),
    votes: many(
      fc.record({
        ...{ decision: fc.constant("approve" as const), principal: person, role: fc.constant("user") },
        ...{
          on_behalf_of: fc.constant(null),
          advisory: fc.constant(true),
          at: fc.constant("2026-01-01T00:00:00.000Z"),
        },
        ...{ payload_digest: fc.constant("d"), signature: fc.constant(null), comment: fc.option(long) },
        ...{ apply_targets: many(long), resolution: fc.constant("done" as const), result: long },
      }),
    ),
    spent_signatures: many(fc.string({ maxLength: 4000 })),
  },
  { requiredKeys: [] },
);

describe("[API-08] a gate in a list", () => {
  it("is bounded, is a gate, says so where it is cut, and is listed again as it is", () => {
    fc.assert(
      fc.property(drawn, (parts) => {
        const gate = { ...small, ...parts };
        const listed = listGate(gate);
        expect(JSON.stringify(listed).length).toBeLessThanOrEqual(maxListedGateChars);
        const { truncated, ...shown } = listed;
        if (!truncated) expect(shown).toEqual(gate);
        expect(truncated).toBe(JSON.stringify(shown) !== JSON.stringify(gate));
        expect(listGate(listed)).toEqual(listed);
      }),
      { numRuns: 200 },
    );
  });

  it("keeps the digest of what is approved, and what is small stays whole", () => {
    const listed = CutGate.parse(listGate({ ...small, payload: "x".repeat(2000) }));
    expect([listed.truncated, listed.payload, listed.payload_digest]).toEqual([true, null, small.payload_digest]);
    expect(listGate(small)).toEqual({ ...small, truncated: false });
  });
});

describe("a title", () => {
  it("is one bounded line: the text, or the inputs in short", () => {
    fc.assert(
      fc.property(
        fc.string({ unit: "binary", maxLength: 5000 }),
        fc.dictionary(fc.string(), fc.jsonValue()),
        (text, inputs) => {
          const title = titleOf({ text, inputs: inputs as Record<string, never> });
          expect(title.length).toBeLessThanOrEqual(maxTitleChars);
          expect(title.isWellFormed()).toBe(true);
          expect(title).not.toMatch(/[\n\t]/);
        },
      ),
    );
    expect(titleOf({ text: " Pay\n the  refund ", inputs: {} })).toBe("Pay the refund");
    const inputs = { order: "A-7", note: "", pay: 1999, body: "x".repeat(61), list: [1], shop: "Berlin" };
    expect(titleOf({ text: "", inputs })).toBe("order A-7, shop Berlin");
    expect(titleOf({ title: "Refund of A-7", text: "please", inputs })).toBe("Refund of A-7");
  });

  it("never ends in half a character", () => {
    expect(cutText("a😀b", 3)).toBe("a…");
    expect(cutText("a😀b", 4)).toBe("a😀b");
  });
});
