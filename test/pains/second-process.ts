/** A job that two processes know: one begins it, another one, with the database only, approves and finishes it. */
import { appendFileSync } from "node:fs";
import { z } from "zod";
import { defineCapability } from "../../src/define/define-capability.ts";
import { defineOperator } from "../../src/define/define-operator.ts";

export const secondProcessJob = (effects: string) =>
  defineCapability({
    intentType: "Test.Second",
    version: "1.0",
    input: z.object({}),
    operators: [
      defineOperator({
        name: "Test.Append",
        effect: "write_draft",
        input: z.object({}),
        run({ context }) {
          appendFileSync(effects, `${context.step_id}\n`);
          return { ok: true };
        },
      }),
    ],
    plan: {
      reasoning: "one, then a person, then two",
      steps: [
        { step_id: "s1", name: "one", operator: "Test.Append" },
        { step_id: "s2", name: "two", operator: "Test.Append", depends_on: ["s1"], gate: {} },
      ],
    },
  });
