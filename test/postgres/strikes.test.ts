/** A short run of the blows that `npm run kills` deals: each kind once. */
import { describe, expect, it } from "vitest";
import { freshSchema, serverUrl } from "./server.ts";
import { strikeNodes } from "./strike-nodes.ts";

describe("processes on one database", () => {
  it("[INV-15] lose nothing and do nothing twice when one is killed, paused and resumed, or cut off", async () => {
    const struck = await strikeNodes({ serverUrl, schema: freshSchema(), count: 3, leaseMs: 1000, workflows: 4 });
    expect(struck.broken).toEqual([]);
    expect(struck.workflows).toBe(14);
    expect(Object.values(struck.takenUpMs).map((each) => each.length)).toEqual([1, 1, 1]);
  });
});
