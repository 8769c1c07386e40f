/** How many decisions wait for whoever is signed in: the number beside "Inbox", wherever one is. */
import { signal } from "@preact/signals";
import type { GatePage } from "../../src/contract/page.ts";
import { ask, kernel } from "./api.ts";
import { followFeed } from "./live.ts";

/** Null: not known. */
export const waiting = signal<number | null>(null);

async function countWaiting(): Promise<void> {
  const page = await ask<GatePage>(`${kernel}/gates?mine=true&limit=1&total=true`);
  if (page.ok) waiting.value = page.value.total ?? null;
}

/** From now on. Gives what stops it. */
export function watchWaiting(): () => void {
  let timer = 0;
  const stop = followFeed(({ gates }) => {
    if (gates.length === 0) return;
    window.clearTimeout(timer);
    timer = window.setTimeout(() => void countWaiting(), 400);
  });
  void countWaiting();
  return () => {
    window.clearTimeout(timer);
    stop();
  };
}
