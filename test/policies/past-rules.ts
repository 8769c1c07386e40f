/** Rules as data for the past of `policy/past.ts`, which other languages say again. */
import { definePolicySet } from "../../src/index.ts";

export const pastRules = definePolicySet({
  version: "data",
  rules: [
    {
      name: "large",
      stages: ["action"],
      when: { operators: ["Pay.*"], amounts: [{ path: "sum", above: 50 }] },
      decision: "REQUIRE_HUMAN_APPROVAL",
      reason: "large sums need a person",
    },
    { name: "pii", stages: ["action"], when: { tags: { any: ["pii"] } }, decision: "DENY", reason: "no pii" },
    { name: "nine", stages: ["gate"], when: { principals: [9] }, decision: "DENY", reason: "nine may not" },
  ],
});
