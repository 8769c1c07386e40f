/** The words that people answer a question with at a terminal. */

/** Returns whether an answer is a yes; everything else is a no. */
export const isYes = (answer: string): boolean => ["y", "yes"].includes(answer.trim().toLowerCase());

/** Returns whether an answer is a no, or leaves. */
export const isNo = (answer: string): boolean => ["n", "no", "q", "quit"].includes(answer.trim().toLowerCase());
