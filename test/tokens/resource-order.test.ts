/** Which resource a refusal names, of all that a request does not fit. */
import { describe, expect, it } from "vitest";
import { detailOf, draft, open } from "./kernels.ts";

const fields = ["cpu_time", "memory_bytes", "network_bytes", "tokens"] as const;
const names = { cpu_time: "cpu", memory_bytes: "memory", network_bytes: "network", tokens: "tokens" } as const;
const pairs = fields.flatMap((first, i) => fields.slice(i + 1).map((second) => [first, second] as const));

describe("a request too big in two resources", () => {
  it.each(pairs)("[GOV-02] [A-26] %s and %s: the first in order is named, and nothing is consumed", (first, second) => {
    const kernel = open({ limits: { [first]: 1, [second]: 2 } });
    kernel.submitToken(draft({ resources: { cpu_time: 1, memory_bytes: 1, network_bytes: 1, tokens: 1 } }));
    kernel.submitToken(draft({ resources: { [second]: 5, [first]: 4 } }));
    kernel.processNext();
    const before = kernel.governor();
    kernel.processNext();
    expect(detailOf(kernel, 2, "resource_violation")).toEqual({
      error: "resource_budget_exceeded",
      resource: names[first],
      attempted: 4,
      remaining: 0,
    });
    expect(kernel.governor()).toEqual(before);
  });
});
