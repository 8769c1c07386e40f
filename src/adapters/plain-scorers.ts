/** The default scorers: small, deterministic, replaceable; and the guard around a host's own. */
import { z } from "zod";
import { callAside } from "../contract/maybe-promise.ts";
import type { Scorers } from "../ports/perception.ts";
import type { Logger } from "../ports/telemetry.ts";

const nothing = (): void => undefined;

const urgent = [
  ["critical", /\b(critical|outage|emergency|immediately)\b/i],
  ["high", /\b(urgent|asap|today|deadline)\b/i],
  ["low", /\b(whenever|no rush|someday|low priority)\b/i],
] as const;

const hedges = /\b(maybe|perhaps|possibly|i think|not sure|unsure)\b/i;

export const plainScorers: Scorers = Object.freeze({
  urgency: (text: string) => urgent.find(([, pattern]) => pattern.test(text))?.[0] ?? "normal",
  complexity({ text, inputs }: { readonly text: string; readonly inputs: unknown }) {
    const size = text.length + (typeof inputs === "object" && inputs !== null ? 40 * Object.keys(inputs).length : 0);
    if (size < 20) return "trivial" as const;
    if (size < 400) return "simple" as const;
    return size < 4000 ? ("moderate" as const) : ("complex" as const);
  },
  confidence: ({ text, stated }: { readonly text: string; readonly stated: number | null }) =>
    stated ?? (hedges.test(text) ? 0.6 : 1),
  grounding: ({ text, evidence }: { readonly text: string; readonly evidence: readonly string[] }) =>
    text === "" || evidence.length > 0 ? 1 : 0.5,
});

const score = z.number();
const Urgency = z.enum(["low", "normal", "high", "critical"]);
const Complexity = z.enum(["trivial", "simple", "moderate", "complex"]);
const none = (): number => 0;

/**
 * Guards a host's scorers: if one throws or gives no score, such as a promise, the error is logged. A request is then
 * scored by the default; an output, which its score would let pass, gets none.
 */
export function guardScorers(own: Partial<Scorers>, logger: Logger): Scorers {
  const guard =
    <Q, A>(ask: (question: Q) => A, answer: z.ZodType<A>, instead: (question: Q) => A) =>
    (question: Q): A => {
      try {
        const given = ask(question);
        callAside(() => given, nothing);
        return answer.parse(given);
      } catch (error) {
        logger.error({ error }, "a scorer gave no score");
        return instead(question);
      }
    };
  const { urgency, complexity, confidence, grounding } = own;
  return {
    ...plainScorers,
    ...(urgency && { urgency: guard(urgency, Urgency, plainScorers.urgency) }),
    ...(complexity && { complexity: guard(complexity, Complexity, plainScorers.complexity) }),
    ...(confidence && { confidence: guard(confidence, score, none) }),
    ...(grounding && { grounding: guard(grounding, score, none) }),
  };
}
