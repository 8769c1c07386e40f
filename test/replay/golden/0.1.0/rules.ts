// The packages, policies and limits that the golden ledgers of release 0.1.0 ran with. They replay under these for
// ever: what a later release changes goes into a folder of that release.
import { z } from "zod";
import { defineCapability } from "../../../../src/define/define-capability.ts";
import { defineOperator, operatorError } from "../../../../src/define/define-operator.ts";
import type { KernelOptions } from "../../../../src/index.ts";
import { releaseNotes } from "../../../../src/packages/capabilities/index.ts";

const anyObject = z.record(z.string(), z.unknown());
const Note = z.object({ text: z.string().min(1) });

const draft = defineOperator({
  name: "Golden.Draft",
  effect: "write_draft",
  input: anyObject,
  output: Note,
  run({ input, stream, report, usage }) {
    report(50);
    for (const word of ["as ", "it ", "comes"]) stream(word);
    usage({ cost: { total: 0.01 } });
    return { text: `a note about ${String(input["about"])}` };
  },
});
const publish = defineOperator({
  name: "Golden.Publish",
  effect: "final_write",
  input: Note,
  run: ({ input }) => ({ published: input.text }),
});

const note = defineCapability({
  intentType: "Golden.Note.Publish",
  version: "1.0",
  input: z.object({ about: z.string() }),
  operators: [draft, publish],
  outcomes: { "Draft.Note": Note },
  plan: ({ input }) => ({
    reasoning: "draft a note, ask, publish it",
    steps: [
      { step_id: "draft", name: "Draft", operator: "Golden.Draft", params: { ...input }, outcome: "Draft.Note" },
      {
        step_id: "publish",
        name: "Publish",
        operator: "Golden.Publish",
        applies: "draft",
        depends_on: ["draft"],
        params: { text: "{{draft.output.text}}" },
      },
    ],
  }),
});

/** Fails on its first calls: `flaky` retryably, `broken` for good until it is planned again, `hangs` never answers. */
const shaky = defineOperator({
  name: "Golden.Shaky",
  effect: "final_write",
  timeoutSec: 5,
  retry: "STANDARD",
  input: z.object({ how: z.enum(["flaky", "broken", "hangs"]) }),
  run({ input: { how }, attempt, context }) {
    if (how === "hangs") return new Promise(() => undefined);
    if (how === "flaky" && attempt < 3)
      throw operatorError({ code: "FLAKY", message: "not now", category: "transient", retry_after_ms: 3000 });
    if (how === "broken" && !context.step_id.endsWith("_r1"))
      throw operatorError({ code: "BROKEN", message: "not so", category: "dependency", retryable: false });
    return { how };
  },
});
const side = defineOperator({ name: "Golden.Side", input: anyObject, run: ({ input }) => ({ ...input }) });

const sends = defineCapability({
  intentType: "Golden.Send",
  version: "1.0",
  input: z.object({ how: z.enum(["flaky", "broken", "hangs"]) }),
  operators: [shaky, side],
  plan: ({ input, situation: { round } }) => ({
    reasoning: "two at once, then one on both",
    steps: [
      {
        step_id: round === 0 ? "send" : `send_r${round}`,
        name: "Send",
        operator: "Golden.Shaky",
        params: { ...input },
      },
      { step_id: round === 0 ? "left" : `left_r${round}`, name: "Left", operator: "Golden.Side", params: { n: round } },
    ],
  }),
});

const costly = defineCapability({
  intentType: "Golden.Costly",
  version: "1.0",
  input: anyObject,
  operators: [
    defineOperator({ name: "Golden.Costly", estimatedCost: 3, input: anyObject, run: ({ input }) => ({ ...input }) }),
  ],
  plan: {
    reasoning: "three costly steps",
    steps: ["a", "b", "c"].map((id, i) => ({
      step_id: id,
      name: id,
      operator: "Golden.Costly",
      params: { id },
      depends_on: i === 0 ? [] : ["ab"[i - 1] as string],
    })),
  },
});

export const rules: KernelOptions = {
  capabilities: [releaseNotes, note, sends, costly],
  budgets: { maxCost: 5 },
  limits: { maxReplans: 1 },
};
