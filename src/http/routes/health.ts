/**
 * Whether the process lives, and whether its kernel serves. Neither asks who calls, neither tells anything else.
 */
import { answerJson } from "../answer.ts";
import type { Edge } from "../edge.ts";

export function addHealth({ app, kernel }: Edge): void {
  app.get("/health", () => answerJson({ status: "ok" }));
  app.get("/ready", async () => {
    try {
      await kernel.gates({ limit: 1 });
      return answerJson({ status: "ready" });
    } catch {
      return answerJson({ status: "unavailable" }, 503);
    }
  });
}
