/**
 * Writes decisions as CSV (RFC 4180), for a spreadsheet.
 *
 * 1.  No cell begins a formula: a text that a spreadsheet would compute gets an apostrophe before it.
 * 2.  Every character that people cannot see is named, as everywhere else.
 */
import type { Decision } from "../contract/decision.ts";
import { showLine } from "./visible-text.ts";

type Cell = string | number | boolean | null;

const columns: readonly (readonly [title: string, value: (decision: Decision) => Cell])[] = [
  ["at", ({ at }) => at],
  ["person", ({ principal }) => principal.id],
  ["role", ({ principal }) => principal.role ?? null],
  ["on_behalf_of", ({ on_behalf_of }) => on_behalf_of?.id ?? null],
  ["act", ({ act }) => act],
  ["closes", ({ closes }) => closes],
  ["advisory", ({ advisory = false }) => advisory],
  ["title", ({ title }) => title],
  ["work", ({ work }) => work],
  ["intent_type", ({ intent_type }) => intent_type],
  ["operator", ({ operator }) => operator],
  ["risk", ({ risk_level }) => risk_level],
  ["estimated_cost", ({ estimated_cost }) => estimated_cost],
  ["requester", ({ requester }) => requester?.id ?? null],
  ["comment", ({ comment }) => comment],
  ["grant_id", ({ grant_id = null }) => grant_id],
  ["workflow_id", ({ workflow_id }) => workflow_id],
  ["gate_id", ({ gate_id }) => gate_id],
  ["sequence", ({ sequence }) => sequence],
  ["payload_digest", ({ payload_digest }) => payload_digest],
];

/** Characters with which a spreadsheet begins a formula. */
const formula = /^[=+\-@\t\r]/;

function writeCell(cell: Cell): string {
  if (cell === null) return "";
  if (typeof cell !== "string") return String(cell);
  const shown = showLine(cell);
  const text = formula.test(shown) ? `'${shown}` : shown;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

const writeRow = (cells: readonly Cell[]): string => `${cells.map(writeCell).join(",")}\r\n`;

/** Returns decisions as the text of a CSV file, with a head. */
export const writeDecisions = (decisions: readonly Decision[]): string =>
  writeRow(columns.map(([title]) => title)) +
  decisions.map((decision) => writeRow(columns.map(([, value]) => value(decision)))).join("");
