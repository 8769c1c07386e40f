/**
 * Single keys that lead somewhere. They can be switched off (WCAG 2.1.4), never act while one writes, and never decide.
 *
 * 1.  A list is gone through from the item that has the focus, or else from the one that is open.
 */
import { signal } from "@preact/signals";
import { undoHeld } from "./held.ts";

const kept = "countersign.shortcuts";

export const shortcuts = signal(localStorage.getItem(kept) !== "off");

export function switchShortcuts(on: boolean): void {
  shortcuts.value = on;
  localStorage.setItem(kept, on ? "on" : "off");
}

export const shortcutHelp: readonly (readonly [string, string])[] = [
  ["j", "next item of a list; it is shown beside the list where there is room"],
  ["k", "previous item of a list"],
  ["o", "open the item"],
  ["x", "select the item, to decide several together"],
  ["a", "to the decision, to approve"],
  ["r", "to the decision, to reject"],
  ["d", "to the decision of a gate"],
  ["e", "to the changes that one may make first"],
  ["c", "write a comment at a gate"],
  ["m", "look after a gate, or hand it back"],
  ["z", "undo the decision that is held"],
  ["/", "search"],
  ["?", "these keys"],
  ["i", "inbox"],
  ["u", "runs"],
  ["h", "home"],
  ["Ctrl-K", "search or go anywhere"],
];

/** Where a key is a letter of a text. A box to tick is none. */
const isWriting = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement &&
  (target.isContentEditable ||
    target.matches("textarea, select, input:not([type=checkbox], [type=radio], [type=button], [type=range])"));

/** The links that j and k go through. */
const items = (): readonly HTMLElement[] => [...document.querySelectorAll<HTMLElement>("[data-item]")];
const current = (): HTMLElement | undefined => {
  const all = items();
  const focused = document.activeElement?.closest("[data-row]")?.querySelector<HTMLElement>("[data-item]");
  return (
    all.find((item) => item === focused || item === document.activeElement) ??
    all.find((item) => item.ariaCurrent === "true")
  );
};

/** What a list does with the item that a key has come to. */
let reach: ((item: HTMLElement) => void) | null = null;
export function whenReached(does: (item: HTMLElement) => void): () => void {
  reach = does;
  return () => {
    if (reach === does) reach = null;
  };
}

function move(by: 1 | -1): void {
  const all = items();
  const now = current();
  const at = now === undefined ? -1 : all.indexOf(now);
  const item = all[at < 0 ? 0 : Math.min(all.length - 1, Math.max(0, at + by))];
  if (item === undefined) return;
  item.focus();
  item.scrollIntoView({ block: "nearest" });
  reach?.(item);
}

/** Opens a part that is folded, and gives its first field the focus. */
function openEdit(): void {
  const part = document.querySelector<HTMLDetailsElement>("details[data-edit]");
  if (part === null) return toDecision();
  part.open = true;
  part.querySelector<HTMLElement>("summary")?.focus();
}

/** Opens the form of a comment, and gives its text the focus. */
function openComment(): void {
  const part = document.querySelector<HTMLDetailsElement>("details[data-comment]");
  if (part === null) return;
  part.open = true;
  part.querySelector<HTMLElement>("textarea")?.focus();
}

const toDecision = (): void => {
  const decision = document.getElementById("decision");
  decision?.focus();
  decision?.scrollIntoView({ block: "nearest" });
};

/** Whether the place to go anywhere from is open. */
export const palette = signal(false);
/** Whether the page of keys is open. */
export const help = signal(false);

const actions: Readonly<Record<string, () => void>> = {
  j: () => move(1),
  k: () => move(-1),
  o: () => current()?.click(),
  x: () => current()?.closest("[data-row]")?.querySelector<HTMLInputElement>("input[type=checkbox]")?.click(),
  a: toDecision,
  r: toDecision,
  d: toDecision,
  e: openEdit,
  c: openComment,
  z: undoHeld,
  m: () => document.querySelector<HTMLElement>("[data-claim]")?.click(),
  "/": () => document.querySelector<HTMLElement>("input[type=search]")?.focus(),
  "?": () => {
    help.value = true;
  },
  i: () => location.assign("#/"),
  u: () => location.assign("#/runs"),
  h: () => location.assign("#/home"),
};

export function listenForKeys(): void {
  window.addEventListener("keydown", (event) => {
    const { target, key } = event;
    if ((event.ctrlKey || event.metaKey) && key.toLowerCase() === "k" && !event.altKey) {
      event.preventDefault();
      palette.value = true;
      return;
    }
    if (!shortcuts.peek() || event.ctrlKey || event.metaKey || event.altKey) return;
    if (isWriting(target) || document.querySelector("dialog[open]") !== null) return;
    const act = Object.hasOwn(actions, key) ? actions[key] : undefined;
    if (act === undefined) return;
    event.preventDefault();
    act();
  });
}
