/**
 * Single keys that lead somewhere. They can be switched off (WCAG 2.1.4), never act while one writes, and never decide.
 */
import { signal } from "@preact/signals";

const kept = "countersign.shortcuts";

export const shortcuts = signal(localStorage.getItem(kept) !== "off");

export function switchShortcuts(on: boolean): void {
  shortcuts.value = on;
  localStorage.setItem(kept, on ? "on" : "off");
}

export const shortcutHelp: readonly (readonly [string, string])[] = [
  ["j", "next item of a list"],
  ["k", "previous item of a list"],
  ["i", "inbox"],
  ["u", "runs"],
  ["d", "to the decision of a gate"],
];

const writing = new Set(["INPUT", "TEXTAREA", "SELECT"]);

/** The links that j and k go through. */
const items = (): readonly HTMLElement[] => [...document.querySelectorAll<HTMLElement>("[data-item]")];

function move(by: 1 | -1): void {
  const all = items();
  const now = all.indexOf(document.activeElement as HTMLElement);
  all[now < 0 ? 0 : Math.min(all.length - 1, Math.max(0, now + by))]?.focus();
}

const actions: Readonly<Record<string, () => void>> = {
  j: () => move(1),
  k: () => move(-1),
  i: () => location.assign("#/"),
  u: () => location.assign("#/runs"),
  d: () => document.getElementById("decision")?.focus(),
};

export function listenForKeys(): void {
  window.addEventListener("keydown", (event) => {
    const { target, key } = event;
    if (!shortcuts.peek() || event.ctrlKey || event.metaKey || event.altKey) return;
    if (target instanceof HTMLElement && (writing.has(target.tagName) || target.isContentEditable)) return;
    const act = Object.hasOwn(actions, key) ? actions[key] : undefined;
    if (act === undefined) return;
    event.preventDefault();
    act();
  });
}
