/** A short run of the fuzzer that the document drives; the long one is `npm run fuzz`. */
import { describe, expect, it } from "vitest";
import { fuzzApi } from "./fuzz-api.ts";

describe("whatever is sent", () => {
  it("[API-07] is answered as the document says, never with a 5xx, and the kernel goes on", {
    timeout: 180_000,
  }, async () => {
    const { requests, byStatus, byOperation, failures } = await fuzzApi({ requests: 1_500, seed: 4 });
    expect(failures).toEqual([]);
    expect(Object.values(byStatus).reduce((sum, n) => sum + n, 0)).toBe(requests);
    // The run means something only where much of it is let in.
    for (const status of ["200", "202", "400", "401", "403", "404", "409"])
      expect(byStatus[status], status).toBeGreaterThan(0);
    expect(Object.keys(byOperation).length).toBeGreaterThan(20);
  });

  it("the same seed sends the same and is answered the same", async () => {
    const run = async () => ({ ...(await fuzzApi({ requests: 150, seed: 9 })), figures: null });
    expect(await run()).toEqual(await run());
  });
});
