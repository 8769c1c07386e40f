/**
 * The one operator of the inventory package: the parts of the fan-out, merged and rendered.
 *
 * Owns: the outcome's shape, and the refusal of parts that do not make a whole. Never: reads the disk (File.List and
 * File.Digest do).
 */
import { z } from "zod";
import { defineOperator, operatorError } from "../../../define/define-operator.ts";
import { FileDigestOutput } from "../../operators/files/file-digest.ts";
import { ListedFile } from "../../operators/files/file-list.ts";
import { buildInventory, findGaps, renderJson, renderMarkdown } from "./inventory.ts";

export const InventoryFormat = z.enum(["markdown", "json"]);

/** The outcome: `content` is the file as it will be written. */
export const InventoryDraft = z.object({
  content: z.string().min(1),
  format: InventoryFormat,
  files: z.int().nonnegative(),
  bytes: z.int().nonnegative(),
  lines: z.int().nonnegative(),
  words: z.int().nonnegative(),
});

export const mergeOperator = defineOperator({
  name: "Inventory.Merge",
  version: "1.0",
  description: "Merges the digested parts of a folder into one report.",
  input: z.object({
    title: z.string().min(1).max(200),
    format: InventoryFormat,
    listed: z.object({ files: z.array(ListedFile), truncated: z.boolean(), skipped: z.int() }),
    parts: z.array(FileDigestOutput).min(1),
  }),
  output: InventoryDraft,
  effect: "write_draft",
  idempotent: true,
  run: ({ input: { title, format, listed, parts }, stream }) => {
    const files = parts.flatMap((part) => part.files);
    refuseGaps(findGaps(listed.files, files));
    const inventory = buildInventory({ title, files, complete: !listed.truncated && listed.skipped === 0 });
    const content = format === "json" ? renderJson(inventory) : renderMarkdown(inventory);
    stream(`${inventory.totals.files} files, ${inventory.totals.bytes} bytes`);
    return { content, format, ...inventory.totals };
  },
});

function refuseGaps(gaps: readonly string[]): void {
  if (gaps.length === 0) return;
  const message = `the parts do not cover the listing: ${gaps.slice(0, 10).join("; ")}`;
  throw operatorError({
    code: "INVENTORY_INCOMPLETE",
    category: "validation",
    message,
    details: { gaps: gaps.slice(0, 100) },
  });
}
