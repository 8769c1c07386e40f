/**
 * The default classifier: the share of a package's keywords that the text mentions; ties and misses have low
 * confidence.
 */
import type { Classifier } from "../ports/perception.ts";

export const keywordClassifier: Classifier = Object.freeze({
  classify({ text, candidates }: Parameters<Classifier["classify"]>[0]) {
    const words = text.toLowerCase();
    const scored = candidates.map((c) => ({
      intent_type: c.intent_type,
      score: c.keywords.filter((k) => words.includes(k.toLowerCase())).length,
    }));
    const [best, next] = scored.filter((c) => c.score > 0).sort((a, b) => b.score - a.score);
    if (best === undefined) return { intent_type: null, domain: "general", confidence: 0 };
    const confidence = next === undefined ? 1 : best.score / (best.score + next.score);
    return {
      intent_type: best.intent_type,
      domain: (best.intent_type.split(".")[0] ?? "general").toLowerCase(),
      confidence: next?.score === best.score ? 0.4 : confidence,
    };
  },
});
