/** The default scorers: small, deterministic, replaceable. */
import type { Scorers } from "../ports/perception.ts";

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
