/** References from a row's inputs and answers to its events: what is written with them is read as it was. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ReferenceWriter, readReferences } from "../../src/contract/event-reference.ts";
import type { Json, JsonObject } from "../../src/contract/json.ts";

describe("a reference to an event of the row", () => {
  const result = { rows: [1, 2], note: "as it is" };
  const decision = { decision: "ALLOW", reason: "", transform: null, policies: ["one"] };
  const payloads = [{ result }, { ...decision, stage: "action" }] as unknown as JsonObject[];
  const writer = new ReferenceWriter(payloads);

  it("stands in place of a subtree that is the same object, and of no equal one", () => {
    expect(writer.write({ result })).toEqual({ result: { $event: 0, path: ["result"] } });
    expect(writer.write({ result: { ...result, rows: [1, 2] } })).toEqual({ result });
    expect([writer.holds(result), writer.holds({ ...result })]).toEqual([true, false]);
  });

  it("stands in place of an object whose members an event holds beside its own", () => {
    expect(writer.write(decision)).toEqual({ $event: 1, omit: ["stage"] });
    expect(readReferences(writer.write(decision), payloads)).toEqual(decision);
  });

  it("is told apart from an object of a host that has a member of the same name", () => {
    const given = { data: { $event: 0 }, more: { $plain: { $event: 1 } } };
    expect(readReferences(writer.write(given), payloads)).toEqual(given);
  });

  it("that leads to nothing is null", () => {
    expect(readReferences([{ $event: 7 }, { $event: 0, path: ["result", "none", "at all"] }], payloads)).toEqual([
      null,
      null,
    ]);
  });

  it("[INV-12] whatever the payloads and the value are, is read as what was written", () => {
    const object = fc.dictionary(fc.string(), fc.jsonValue(), { maxKeys: 6 });
    fc.assert(
      fc.property(fc.array(object, { maxLength: 4 }), object, fc.nat(), (events, more, at) => {
        const held = events[at % Math.max(1, events.length)] ?? {};
        const value = JSON.parse(JSON.stringify({ more })) as object;
        const given = { ...value, held, members: Object.values(held) } as unknown as Json;
        const written = JSON.parse(JSON.stringify(new ReferenceWriter(events).write(given))) as Json;
        const read = readReferences(written, JSON.parse(JSON.stringify(events)) as JsonObject[]);
        expect(JSON.stringify(read)).toBe(JSON.stringify(given));
      }),
    );
  });
});
