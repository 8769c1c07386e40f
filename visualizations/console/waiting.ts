/** How many decisions wait for whoever is signed in: the number beside "Inbox", wherever one is. */
import { signal } from "@preact/signals";
import type { GatePage } from "../../src/contract/page.ts";
import { ask, kernel } from "./api.ts";
import { followFeed } from "./live.ts";

/** Null: not known. */
export const waiting = signal<number | null>(null);

async function countWaiting(): Promise<void> {
  const page = await ask<GatePage>(`${kernel}/gates?mine=true&snoozed=false&limit=1&total=true`);
  if (page.ok) waiting.value = page.value.total ?? null;
}

const recountMs = 60_000;

/** From now on. Gives what stops it. */
export function watchWaiting(): () => void {
  let timer = 0;
  const stop = followFeed(({ gates }) => {
    if (gates.length === 0) return;
    window.clearTimeout(timer);
    timer = window.setTimeout(() => void countWaiting(), 400);
  });
  void countWaiting();
  // A snooze ends by itself.
  const again = window.setInterval(() => void countWaiting(), recountMs);
  return () => {
    window.clearInterval(again);
    window.clearTimeout(timer);
    stop();
  };
}
