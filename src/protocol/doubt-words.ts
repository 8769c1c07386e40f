/**
 * The answers to "What became of this call?" as text. The console's buttons, the terminal and the drawings use them.
 */
export const doubtWords = {
  done: "It happened",
  retry: "It did not happen: try again",
  failed: "It did not happen: give up",
} as const;

/** Returns an answer to an in-doubt gate as the text of its button. */
export const tellSettled = (answer: {
  readonly decision: "approve" | "reject";
  readonly resolution?: keyof typeof doubtWords | null | undefined;
}): string => doubtWords[answer.decision === "reject" ? "failed" : (answer.resolution ?? "done")];
