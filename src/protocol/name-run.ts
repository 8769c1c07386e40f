/** A run as a page names it. */
import type { Intent } from "../contract/intent.ts";

/** Returns the title that the package gives a run, else the text of its request, else its kind of work. */
export const nameRun = ({ title, text, type }: Pick<Intent, "title" | "text" | "type">): string =>
  title ?? (text || type);
