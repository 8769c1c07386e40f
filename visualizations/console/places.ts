/** The places of the console: those that everybody needs, and the others. */
export interface Place {
  readonly href: string;
  readonly name: string;
  /** The views that belong to it. */
  readonly views: readonly string[];
}

export const mainPlaces: readonly Place[] = [
  { href: "#/", name: "Inbox", views: ["inbox", "gate"] },
  { href: "#/runs", name: "Runs", views: ["runs", "run", "time", "why", "compare", "start"] },
  { href: "#/home", name: "Home", views: ["home"] },
];

export const morePlaces: readonly Place[] = [
  { href: "#/what-if", name: "What if", views: ["what-if"] },
  { href: "#/budgets", name: "Budgets", views: ["budgets"] },
  { href: "#/queues", name: "Queues", views: ["queues"] },
  { href: "#/schedules", name: "Schedules", views: ["schedules"] },
  { href: "#/decisions", name: "Decisions", views: ["decisions"] },
  { href: "#/grants", name: "Grants", views: ["grants"] },
  { href: "#/away", name: "Away", views: ["away"] },
  { href: "#/halts", name: "Stop work", views: ["halts"] },
  { href: "#/inspect", name: "Inspect", views: ["inspect"] },
];
