/** Rules that let every tool be called without a person, or those that further conditions name. */
import { definePolicySet } from "../../src/index.ts";

export const allowing = (when: object = {}) =>
  definePolicySet({
    version: "1",
    rules: [
      {
        name: "writes",
        stages: ["action"],
        lifts: "default.final_write",
        when: { operators: ["Guard.Write"], ...when },
        decision: "ALLOW",
        reason: "the owner of the folder lets it",
      },
    ],
  });
