/**
 * Notifications of the browser: of gates that newly wait for the reader, that the reader is to look after, and of
 * comments that mention the reader.
 *
 * 1.  Only a press of the button asks the browser for permission. What the browser denies is not asked for again.
 * 2.  A notification carries the title of the gate and why it comes, and nothing else of what is decided on.
 * 3.  Each of them comes once, and none while the page has the focus.
 */
import { signal } from "@preact/signals";
import type { Gate } from "../../src/contract/gate.ts";
import type { GatePage } from "../../src/contract/page.ts";
import { showLine } from "../../src/protocol/visible-text.ts";
import { ask, isMe, kernel, workflowPath } from "./api.ts";
import { followFeed } from "./live.ts";
import { now } from "./loaded.tsx";
import { gateHref } from "./route.ts";
import { count, isOpen, tellPerson } from "./words.ts";

const place = "countersign.notify";

/** `none` where the browser has no notifications; `denied` where it does not allow them. */
export type Notifying = "on" | "off" | "denied" | "none";

function readState(): Notifying {
  if (!("Notification" in window)) return "none";
  if (Notification.permission === "denied") return "denied";
  return Notification.permission === "granted" && localStorage.getItem(place) === "on" ? "on" : "off";
}

export const notifying = signal<Notifying>(readState());

/** Switches notifications; the browser asks its user for permission the first time. */
export async function switchNotifying(on: boolean): Promise<void> {
  if (on && Notification.permission === "default") await Notification.requestPermission();
  localStorage.setItem(place, on ? "on" : "off");
  notifying.value = readState();
}

type Place = Pick<Gate, "workflow_id" | "gate_id">;
const keyOf = ({ workflow_id, gate_id }: Place): string => `${workflow_id}/${gate_id}`;

/** More than these at once are one notification. */
const mostAtOnce = 3;
const settleMs = 400;

/** Notifies from now on. Gives what stops it. */
export function watchNotifications(): () => void {
  const since = new Date(now.peek()).toISOString();
  const assigned = new Set<string>();
  const heard = new Set<string>();
  let changed = new Map<string, Place & { readonly isOpened: boolean }>();
  let timer = 0;
  /** Returns why the reader is told of a gate; null if there is no reason. */
  const reasonOf = (gate: Gate, isOpened: boolean): string | null => {
    const { conversation, seat, opened_at } = gate;
    const own = isMe(conversation?.assigned_to ?? null);
    const isAssigned = own && !assigned.has(keyOf(gate));
    if (own) assigned.add(keyOf(gate));
    else assigned.delete(keyOf(gate));
    const fresh = (conversation?.comments ?? []).filter(
      ({ comment_id, at, by, mentions }) => at > since && !heard.has(comment_id) && !isMe(by) && mentions.some(isMe),
    );
    for (const { comment_id } of fresh) heard.add(comment_id);
    const last = fresh.at(-1);
    const opening = `${keyOf(gate)} ${opened_at}`;
    const isNew = isOpened && !heard.has(opening);
    heard.add(opening);
    if (last !== undefined) return `${showLine(tellPerson(last.by))} mentions you in a comment`;
    if (isAssigned) return "You are to look after it";
    const waits = seat?.may === true && seat.advisory === undefined && seat.voted === undefined;
    return isNew && waits && seat.spare === undefined ? "It waits for your decision" : null;
  };
  const look = async () => {
    const places = [...changed.values()];
    changed = new Map();
    const reasons: { readonly gate: Gate; readonly reason: string }[] = [];
    for (const { isOpened, ...at } of places) {
      const read = await ask<Gate>(workflowPath(at.workflow_id, `/gates/${encodeURIComponent(at.gate_id)}`));
      const reason = read.ok && isOpen(read.value) ? reasonOf(read.value, isOpened) : null;
      if (read.ok && reason !== null) reasons.push({ gate: read.value, reason });
    }
    if (document.hasFocus()) return;
    if (reasons.length > mostAtOnce) return show(`${count(reasons.length, "decision")} for you`, "", "#/");
    for (const { gate, reason } of reasons)
      show(showLine(gate.title), reason, gateHref(gate.workflow_id, gate.gate_id));
  };
  void ask<GatePage>(`${kernel}/gates?assigned=me&limit=500`).then((page) => {
    if (page.ok) for (const gate of page.value.gates) assigned.add(keyOf(gate));
  });
  const stop = followFeed(({ workflow_id, gates }) => {
    if (notifying.peek() !== "on") return;
    for (const { gate_id, change } of gates) {
      if (change === "closed") continue;
      const at = { workflow_id, gate_id };
      const isOpened = change === "opened" || changed.get(keyOf(at))?.isOpened === true;
      changed.set(keyOf(at), { ...at, isOpened });
    }
    window.clearTimeout(timer);
    if (changed.size > 0) timer = window.setTimeout(() => void look(), settleMs);
  });
  return () => {
    window.clearTimeout(timer);
    stop();
  };
}

function show(title: string, body: string, href: string): void {
  try {
    const shown = new Notification(title, { body, tag: href });
    shown.onclick = () => {
      window.focus();
      location.assign(href);
      shown.close();
    };
  } catch {
    // Some browsers of phones let only a service worker notify.
    notifying.value = "none";
  }
}
