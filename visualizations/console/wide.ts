/** Whether the window has room for a list beside what is chosen in it. */
import { signal } from "@preact/signals";

const query = window.matchMedia("(min-width: 900px)");

export const isWide = signal(query.matches);
query.addEventListener("change", () => {
  isWide.value = query.matches;
});
