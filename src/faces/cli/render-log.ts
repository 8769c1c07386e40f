/**
 * Short lines of a log for a person at a terminal, made of the JSON lines that programs read.
 *
 * 1.  A read that was answered well has no line: a console that is open reads all the time.
 */
import { showLine } from "../../protocol/visible-text.ts";

type Fields = Readonly<Record<string, unknown>>;

/** The members that a line shows after its message, in their order. */
const shown = ["code", "rule", "operator", "gate_id", "step_id", "workflow_id"] as const;
const reads: ReadonlySet<unknown> = new Set(["GET", "HEAD"]);

/** Returns a line of the log in short, or null if it says nothing that a person needs. */
export function renderLogLine(line: string): string | null {
  const fields = readFields(line);
  if (fields === null) return showLine(line);
  const { time, level, message } = fields;
  const at = typeof time === "string" ? `${new Date(time).toTimeString().slice(0, 8)} ` : "";
  const rank = level === "info" ? "" : `${level}: `;
  const text = "route" in fields ? describeRequest(fields) : describeEvent(message, fields);
  return text === null ? null : showLine(`${at}${rank}${text}`);
}

function readFields(line: string): Fields | null {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === "object" && value !== null ? (value as Fields) : null;
  } catch {
    return null;
  }
}

const describeRequest = ({ method, route, status, ms }: Fields): string | null =>
  reads.has(method) && Number(status) < 400 ? null : `${method} ${route} ${status}, ${ms} ms`;

function describeEvent(message: unknown, fields: Fields): string {
  const named = shown.flatMap((name) => (typeof fields[name] === "string" ? [fields[name]] : []));
  return [String(message), ...named].join("  ");
}
