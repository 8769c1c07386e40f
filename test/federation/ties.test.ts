// Changes that share key, version and origin and still differ: the greater canonical text stands on every replica.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { canonicalJson, createFederatedMemory, type FederatedChange } from "../../src/index.ts";

const change = (value: unknown, capability = "c"): FederatedChange =>
  ({ origin: "a", key: "k", value, version: 1, capability }) as FederatedChange;
const standing = (changes: readonly FederatedChange[]) => {
  const memory = createFederatedMemory({ replica: "b", replicas: { a: ["*"] } });
  for (const one of changes) memory.applyFederatedChanges([one]);
  return memory.get("k");
};

describe("a tie of one origin with itself", () => {
  it("[FED-05] the greater canonical text stands, in whatever order the changes came", () => {
    expect(standing([change("apple"), change("pear")])?.value).toBe("pear");
    expect(standing([change("pear"), change("apple")])?.value).toBe("pear");
    fc.assert(
      fc.property(
        fc.array(fc.oneof(fc.string({ unit: "grapheme" }), fc.integer(), fc.constant(null)), {
          minLength: 1,
          maxLength: 6,
        }),
        (values) => {
          const changes = values.map((value) => change(JSON.parse(JSON.stringify(value))));
          const texts = changes.map(({ value }) => canonicalJson([value, "c"])).sort();
          for (const order of [changes, changes.toReversed()])
            expect(canonicalJson([standing(order)?.value, "c"])).toBe(texts.at(-1));
        },
      ),
    );
  });
});
