/**
 * Where one is: the part of the address after `#`, so that every view is the same file and can be linked to.
 *
 * Owns: reading and writing addresses. Never: knows what a view shows.
 */
import { signal } from "@preact/signals";

export type RunTab = "run" | "time" | "why";

export type Route =
  | { readonly view: Single; readonly query: string }
  | { readonly view: "unknown" }
  | { readonly view: "inspect"; readonly workflow: string | null }
  | { readonly view: "compare"; readonly workflow: string; readonly other: string | null }
  | { readonly view: "gate"; readonly workflow: string; readonly gate: string }
  | { readonly view: RunTab; readonly workflow: string; readonly at: number | null };

/** The views that show no single run, by their addresses. */
const singles = {
  "": "inbox",
  home: "home",
  runs: "runs",
  start: "start",
  "what-if": "what-if",
  budgets: "budgets",
  queues: "queues",
  schedules: "schedules",
  decisions: "decisions",
  grants: "grants",
  away: "away",
  halts: "halts",
} as const;
type Single = (typeof singles)[keyof typeof singles];
const tabs = { time: "time", why: "why" } as const;

export function readRoute(hash: string): Route {
  const [path = "", query = ""] = hash.replace(/^#\/?/, "").split("?");
  const [first = "", workflow = "", third, fourth] = path.split("/").map(decode);
  const asked = new URLSearchParams(query);
  if (Object.hasOwn(singles, first) && workflow === "") return { view: singles[first as keyof typeof singles], query };
  if (first === "compare" && workflow !== "") return { view: "compare", workflow, other: third || null };
  if (first === "inspect") return { view: "inspect", workflow: asked.get("workflow") };
  if (first !== "w" || workflow === "") return { view: "unknown" };
  if (third === "g" && fourth) return { view: "gate", workflow, gate: fourth };
  const view = third === undefined ? "run" : tabs[third as keyof typeof tabs];
  return view === undefined ? { view: "unknown" } : { view, workflow, at: readAt(asked.get("at")) };
}

const readAt = (text: string | null): number | null =>
  text !== null && /^[1-9]\d{0,14}$/.test(text) ? Number(text) : null;

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

export const route = signal<Route>(readRoute(location.hash));
window.addEventListener("hashchange", () => {
  route.value = readRoute(location.hash);
});

const part = encodeURIComponent;
export const runHref = (workflow: string, tab: RunTab = "run"): string =>
  `#/w/${part(workflow)}${tab === "run" ? "" : `/${tab}`}`;
export const compareHref = (one: string, other: string | null = null): string =>
  `#/compare/${part(one)}${other === null ? "" : `/${part(other)}`}`;
export const gateHref = (workflow: string, gate: string): string => `#/w/${part(workflow)}/g/${part(gate)}`;

/** The same view at another sequence, without a step in the browser's history. */
export function goTo(hash: string): void {
  history.replaceState(null, "", hash);
  route.value = readRoute(hash);
}

const kept = "countersign.after-sign-in";

/** Where one wanted to go before one had to sign in: a link opened in a mail leads there afterwards. */
export function keepPlace(): void {
  if (location.hash.length > 2) localStorage.setItem(kept, location.hash);
}

export function returnToPlace(): void {
  const hash = localStorage.getItem(kept);
  localStorage.removeItem(kept);
  if (hash !== null && location.hash.length <= 2) location.replace(hash);
}
