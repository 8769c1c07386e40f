/** Writes what a command makes to the file that is named. @throws UsageError if it cannot be written. */
import { writeFileSync } from "node:fs";
import { UsageError } from "./report-error.ts";

export function writeOut(path: string, text: string): void {
  try {
    writeFileSync(path, text);
  } catch (thrown) {
    throw new UsageError(`${path} cannot be written: ${(thrown as Error).message}`);
  }
}
