/** Views of the inbox that a person has named: kept in this browser, each as the address that it stands for. */
import { signal } from "@preact/signals";

export interface SavedView {
  readonly name: string;
  readonly href: string;
}

const place = "countersign.inbox-views";
const most = 20;

export const savedViews = signal<readonly SavedView[]>(readKept());

/** Keeps a view under its name; one of the same name is replaced. */
export const saveView = (view: SavedView): void =>
  keep([...savedViews.value.filter(({ name }) => name !== view.name), view].slice(-most));

export const forgetView = (name: string): void => keep(savedViews.value.filter((view) => view.name !== name));

function keep(views: readonly SavedView[]): void {
  savedViews.value = views;
  localStorage.setItem(place, JSON.stringify(views));
}

function readKept(): readonly SavedView[] {
  try {
    const found = JSON.parse(localStorage.getItem(place) ?? "[]") as readonly SavedView[];
    return found.filter(({ name, href }) => typeof name === "string" && href.startsWith("#/"));
  } catch {
    return [];
  }
}
