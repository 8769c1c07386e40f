/** Rules as text: what is read, and that no text keeps a process from all else. */
import { expect, it } from "vitest";
import { readYaml } from "../../src/protocol/read-yaml.ts";

it.each([
  ["as it stands", "a: 1\na: 2"],
  ["under quotes", `a: 1\n"a": 2`],
  ["in a map below", "rules: [{ name: x, name: y }]"],
  ["as a number and as its text", `1: x\n"1": y`],
  ["by an alias", "&k a: 1\n*k : 2"],
  ["in JSON", '{"a":1,"a":2}'],
])("a field that is written twice is refused: %s", async (_how, text) => {
  await expect(readYaml(text)).rejects.toThrow("is written twice");
});

it("the same field in two maps is none that is written twice, and an alias stands for what it names", async () => {
  expect(await readYaml("one: &r { name: x }\ntwo: { name: y }\nagain: *r")).toEqual({
    one: { name: "x" },
    two: { name: "y" },
    again: { name: "x" },
  });
});

it("so many fields are looked at once each: a wide map is read in the time that its length takes", async () => {
  const wide = Array.from({ length: 30_000 }, (_, i) => `k${i}: ${i}`).join("\n");
  expect(Object.keys((await readYaml(wide)) as object)).toHaveLength(30_000);
});
