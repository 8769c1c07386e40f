/** The one place from which a screen reader is told what changed by itself. */
import { signal } from "@preact/signals";

export const announcement = signal("");

/** Said once, after what is being read now. */
export function announce(text: string): void {
  // The same words twice are news, too.
  announcement.value = announcement.peek() === text ? `${text}\u00a0` : text;
}
