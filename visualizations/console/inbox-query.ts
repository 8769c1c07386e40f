/**
 * What the inbox shows, as its address says it: which gates, in which order, and the gate that is open beside them.
 *
 * Owns: the members of the address, and the question to the server that they stand for.
 * 1.  What the address does not say has its default: what waits for the reader, by due time.
 */
import { type AddressQuery, hrefWith, readAddressQuery } from "./address-query.ts";
import { kernel } from "./api.ts";

const names = [
  "show",
  "sort",
  "text",
  "type",
  "operator",
  "asker",
  "risk",
  "role",
  "due",
  "age",
  "group",
  "gate",
] as const;

/** All members are texts of the address; empty: the default. */
export type InboxQuery = AddressQuery<(typeof names)[number]>;

/** The members that choose gates: a saved view keeps these, and not which gate is open. */
export const choosing = names.filter((name) => name !== "gate");

export const readInboxQuery = (query: string): InboxQuery => readAddressQuery(names, query);

/** Returns the address of the inbox, without members that have their default. */
export const inboxHref = (query: Partial<InboxQuery>): string =>
  hrefWith(
    "#/",
    names.flatMap((name) => (query[name] ? [[name, query[name]] as const] : [])),
  );

/** Returns whether the inbox shows all that waits for its reader, in whatever order. */
export const isUnfiltered = (query: InboxQuery): boolean =>
  choosing.every((name) => query[name] === "" || name === "sort" || name === "group");

/** The gates of each value of `show`. What the reader has snoozed is hidden where it is not asked for. */
const shows: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  "": { mine: "true", snoozed: "false" },
  assigned: { assigned: "me", snoozed: "false" },
  unassigned: { mine: "true", assigned: "nobody", snoozed: "false" },
  snoozed: { snoozed: "true" },
  voted: { voted: "true" },
};

const hour = 3_600_000;
const dueWithin: Readonly<Record<string, number>> = { overdue: 0, today: 24 * hour, week: 7 * 24 * hour };
const olderThan: Readonly<Record<string, number>> = { hour, day: 24 * hour, week: 7 * 24 * hour };

const later = (now: number, ms: number): string => new Date(now + ms).toISOString();

/** Returns the address of a page of gates. `now`: epoch ms. */
export function gatesPath(query: InboxQuery, page: Readonly<Record<string, string>>, now: number): string {
  const { show, due, age } = query;
  const asked: Readonly<Record<string, string | undefined>> = {
    ...shows[show],
    sort: query.sort || "due",
    text: query.text.trim(),
    intent_type: query.type,
    operator: query.operator,
    principal: query.asker,
    risk: query.risk,
    role: query.role,
    due_before: dueWithin[due] === undefined ? "" : later(now, dueWithin[due]),
    until: olderThan[age] === undefined ? "" : later(now, -olderThan[age]),
    ...page,
  };
  const given = Object.entries(asked).filter((one): one is [string, string] => Boolean(one[1]));
  return `${kernel}/gates?${new URLSearchParams(given)}`;
}
