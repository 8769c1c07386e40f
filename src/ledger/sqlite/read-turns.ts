/**
 * Reads rows of the log as the file holds them.
 *
 * Owns: the reading of texts that are not UTF-8. Never: judges a row.
 * R1  The driver gives U+FFFD in place of bytes that are not UTF-8, so texts with other bytes could have the same hash.
 *     A text that holds the character is read again as bytes. If these are not UTF-8, each byte becomes a character,
 *     and the row's hashes do not fit.
 */
import type { TurnRow } from "../../contract/turn.ts";
import { type Columns, toTurnRow } from "../tables/columns.ts";
import type { Statements } from "./statements.ts";

const hashed = ["stream", "envelope", "body"] as const;
const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Returns a row of the log from columns that name its position. */
export function readTurn(columns: Columns, { turnBytes }: Statements): TurnRow {
  const isDoubtful = hashed.some((name) => {
    const text = columns[name];
    return typeof text === "string" && text.includes("\ufffd");
  });
  if (!isDoubtful) return toTurnRow(columns);
  const bytes = turnBytes.get(columns["position"] as number) ?? {};
  const texts = hashed.map((name) => [name, decode(bytes[name] as Uint8Array | null)] as const);
  return toTurnRow({ ...columns, ...Object.fromEntries(texts) });
}

function decode(bytes: Uint8Array | null): string | null {
  if (bytes === null) return null;
  try {
    return utf8.decode(bytes);
  } catch {
    return Buffer.from(bytes).toString("latin1");
  }
}
