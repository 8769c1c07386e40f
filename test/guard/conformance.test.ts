/** The protocol's own judge finds nothing that a server does worse through the guard. */
import { expect, it } from "vitest";
import { compareEverything, isWorse } from "./judge-guarded.ts";

it("passes as many checks of each scenario through the guard as the server does alone", async () => {
  const compared = await compareEverything();
  expect(compared.filter(({ guarded }) => guarded !== null).length).toBeGreaterThan(50);
  expect(compared.filter(isWorse)).toEqual([]);
});
