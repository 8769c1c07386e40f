/**
 * What a view reads: asked when its address changes or when it is told to, shown while a newer answer is on its way.
 */
import { type ReadonlySignal, signal, useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useCallback, useEffect, useRef } from "preact/hooks";
import { type Answer, askInTime } from "./api.ts";
import { link } from "./live.ts";
import { ProblemNote } from "./parts/problem.tsx";

export interface Loaded<T> {
  /** Null while the first answer is on its way. */
  readonly answer: ReadonlySignal<Answer<T> | null>;
  readonly reload: () => Promise<void>;
}

/** A path of null asks nothing. The answer to an older question is never shown after that to a newer one. */
export function useLoaded<T>(path: string | null): Loaded<T> {
  const answer = useSignal<Answer<T> | null>(null);
  const asked = useRef<AbortController | null>(null);
  const shown = useRef<string | null>(null);
  const reload = useCallback(async () => {
    if (path === null) return;
    asked.current?.abort();
    const mine = new AbortController();
    asked.current = mine;
    const got = await askInTime<T>(path, mine.signal);
    if (mine.signal.aborted) return;
    // What is shown stays while the server is away.
    if (!got.ok && got.problem.status === 0 && answer.peek()?.ok === true && shown.current === path) return;
    shown.current = path;
    answer.value = got;
  }, [path, answer]);
  useEffect(() => {
    void reload();
    return () => asked.current?.abort();
  }, [reload]);
  useReconnected(answer, reload);
  return { answer, reload };
}

/** Asks again what the server could not be reached for, once the page is connected again. */
export function useReconnected(answer: ReadonlySignal<Answer<unknown> | null>, reload: () => Promise<void>): void {
  const state = link.value;
  useEffect(() => {
    const last = answer.peek();
    if (state === "live" && last?.ok === false && last.problem.status === 0) void reload();
  }, [state, answer, reload]);
}

interface ShowProps<T> {
  readonly loaded: Loaded<T>;
  readonly children: (value: T) => ComponentChildren;
}

export function Show<T>({ loaded, children }: ShowProps<T>) {
  const answer = loaded.answer.value;
  if (answer === null) return <p class="quiet">Loading…</p>;
  if (answer.ok) return <>{children(answer.value)}</>;
  return (
    <ProblemNote problem={answer.problem}>
      <button type="button" onClick={() => void loaded.reload()}>
        Try again
      </button>
    </ProblemNote>
  );
}

/** Runs no more often than this, and once more after the last word. */
export function useSettled(work: () => void, ms: number): () => void {
  const timer = useRef(0);
  const latest = useRef(work);
  latest.current = work;
  useEffect(() => () => window.clearTimeout(timer.current), []);
  return useCallback(() => {
    if (timer.current !== 0) return;
    timer.current = window.setTimeout(() => {
      timer.current = 0;
      latest.current();
    }, ms);
  }, [ms]);
}

/** Now, once a second where somebody looks at it: of all that is shown as "in 5 minutes". */
export const now = signal(Date.now());
window.setInterval(() => {
  now.value = Date.now();
}, 1000);
