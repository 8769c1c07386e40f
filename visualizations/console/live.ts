/**
 * What the server tells by itself: one feed for the page, and the events of a run that is looked at.
 *
 * Owns: connections, and coming back. Never: keeps what was told; who listens does.
 * 1.  Who is cut off comes back after what was told last, later each time, up to half a minute. What is over, or
 *     nobody's to read, is not asked for again: it would keep a session alive that nobody uses.
 * 2.  A snapshot is what is there already: views have read it, and hear only of what changes after it.
 */
import { signal } from "@preact/signals";
import type { LedgerEvent } from "../../src/contract/event.ts";
import type { FeedItem, FeedWorkflow } from "../../src/contract/feed.ts";
import type { Inspection } from "../../src/contract/inspection.ts";
import { kernel, send, session } from "./api.ts";

/** Whether what is on the page is kept up to date. */
export const link = signal<"connecting" | "live" | "waiting">("connecting");

interface Followed<T> {
  /** The address, after the last id that was told. */
  readonly address: (after: string | null) => string;
  readonly event: string;
  readonly tell: (item: T) => void;
  readonly onState?: ((state: "live" | "waiting") => void) | undefined;
  /** Called once the server has nothing more to tell. */
  readonly onOver?: (() => void) | undefined;
}

const longestPauseMs = 30_000;

/** Gives what ends it. */
function follow<T>({ address, event, tell, onState, onOver }: Followed<T>): () => void {
  let source: EventSource | null = null;
  let last: string | null = null;
  let pauseMs = 500;
  let timer = 0;
  let isOver = false;
  const open = (): void => {
    if (isOver || session.peek() === null) return;
    source = new EventSource(address(last));
    source.addEventListener("open", () => {
      pauseMs = 500;
      onState?.("live");
    });
    source.addEventListener(event, (message) => {
      if (message.lastEventId !== "") last = message.lastEventId;
      tell(JSON.parse(message.data) as T);
    });
    source.addEventListener("error", comeBack);
  };
  const comeBack = (): void => {
    source?.close();
    if (isOver) return;
    onState?.("waiting");
    window.clearTimeout(timer);
    timer = window.setTimeout(() => void askAgain(), pauseMs);
    pauseMs = Math.min(2 * pauseMs, longestPauseMs);
  };
  // The browser's own attempts say nothing of why they fail.
  const askAgain = async (): Promise<void> => {
    const reported = await send(address(last), { method: "HEAD" });
    if (isOver) return;
    if (reported?.status === 204) {
      isOver = true;
      onOver?.();
    } else if (reported?.ok) open();
    else if (reported?.status !== 401) comeBack();
  };
  open();
  return () => {
    isOver = true;
    window.clearTimeout(timer);
    source?.close();
  };
}

type FeedListener = (item: FeedWorkflow) => void;
const listeners = new Set<FeedListener>();

/** Hears of each change in a workflow of the tenant. Gives what stops it. */
export function followFeed(listener: FeedListener): () => void {
  listeners.add(listener);
  return () => void listeners.delete(listener);
}

/** For as long as somebody is signed in. */
export function openFeed(): () => void {
  return follow<FeedItem>({
    address: (after) => `${kernel}/stream/feed${after === null ? "" : `?after=${after}`}`,
    event: "kernel.feed",
    onState: (state) => {
      link.value = state;
    },
    tell: (item) => {
      if (item.type === "workflow" && item.position !== null) for (const listener of listeners) listener(item);
    },
  });
}

/** What an inspector is told: of one workflow from its first event on, or of all that have not ended. */
export function followInspection(
  workflowId: string | null,
  { tell, onState }: Pick<Followed<Inspection>, "tell" | "onState">,
): () => void {
  const of = workflowId === null ? [] : [`workflow_id=${encodeURIComponent(workflowId)}`];
  return follow<Inspection>({
    address: (after) => `${kernel}/stream/inspect?${[...of, ...(after === null ? [] : [`after=${after}`])].join("&")}`,
    event: "kernel.inspection",
    tell,
    onState,
  });
}

/** Follows the events of one workflow after a sequence, until the workflow has ended. */
export function followEvents(
  workflowId: string,
  after: number,
  told: Pick<Followed<LedgerEvent>, "tell" | "onOver">,
): () => void {
  return follow<LedgerEvent>({
    ...told,
    address: (last) => `${kernel}/stream/${workflowId}/events?after=${last ?? after}`,
    event: "kernel.event",
  });
}
