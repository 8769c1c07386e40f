/** The bundles of tests are those of the sources beside them: whoever changes one compiles it again. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { sha256 } from "../../src/contract/digest.ts";
import { filesOf, readBlocks } from "../guide/read-blocks.ts";
import { readSource, root } from "../tidy/source-files.ts";
import { regoFolder } from "./rego-bundles.ts";

const digestOf = (...paths: readonly string[]): string =>
  sha256(Buffer.concat(paths.map((path) => readFileSync(path)))).slice(0, 16);
const inFolder = (...names: readonly string[]): string => digestOf(...names.map((name) => join(regoFolder, name)));

it.each([
  ["policies", ["policies.rego", "orders.rego", "past.rego", "data.json"], "1f56bab2bedcf26c", "528c0699672004a1"],
  ["faulty", ["faulty.rego"], "64b1dc1036e6ab2d", "c8be0227f32f185d"],
  ["ambient", ["ambient.rego"], "d13a051b4bfde8d4", "515e0c9278945676"],
])("%s.tar.gz and its sources have the digests of when it was compiled", (name, sources, source, bundle) => {
  expect([inFolder(...sources), inFolder(`${name}.tar.gz`)]).toEqual([source, bundle]);
});

it("the bundle of the guide is that of the Rego which its page shows", () => {
  const shown = filesOf(readBlocks(readSource("src/guide/policy-languages.md").text)).get("orders.rego");
  const bundle = digestOf(join(root, "test/guide/files/bundle.tar.gz"));
  expect([sha256(shown ?? "").slice(0, 16), bundle]).toEqual(["0322a5808c4f593a", "dd4d0a561fcfae6a"]);
});
