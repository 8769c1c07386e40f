/** The rules of a guard that learns: nothing waits for a person by default; what other rules deny stays denied. */
import { definePolicySet } from "../../index.ts";

export const learningRules = definePolicySet({
  version: "guard-learn-1",
  rules: [
    {
      name: "guard.learn",
      stages: ["action"],
      lifts: "default.final_write",
      when: { operators: ["Guard.Write"] },
      decision: "ALLOW",
      reason: "the guard learns: calls are recorded and nobody is asked",
    },
  ],
});
