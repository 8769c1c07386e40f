/**
 * Folder.Inventory.Build: an inventory of a folder, digested by several steps side by side.
 *
 * Owns: the plan: list → shard_1 … shard_n → merge → publish, the last behind a gate. Never: changes anything
 * but the one report; lists the report it writes.
 * 1.  The plan has `shards` + 3 steps, at most 10, whatever the folder holds.
 */
import { z } from "zod";
import type { ExecutionPlan } from "../../../contract/plan.ts";
import { defineCapability } from "../../../define/define-capability.ts";
import type { StepBuilder } from "../../../define/step-builder.ts";
import { fileDigest } from "../../operators/files/file-digest.ts";
import { FileListInput, fileList } from "../../operators/files/file-list.ts";
import { fileWrite } from "../../operators/files/file-write.ts";
import { FolderPath, PathInside } from "../../operators/files/safe-path.ts";
import { InventoryDraft, InventoryFormat, mergeOperator } from "./operators.ts";

const shardNumbers = [1, 2, 3, 4, 5, 6, 7] as const;
const outByFormat = { markdown: "INVENTORY.md", json: "INVENTORY.json" } as const;

export const FolderInventoryInput = z.object({
  folder: FolderPath.meta({ title: "Folder" }),
  shards: z.int().min(2).max(shardNumbers.length).default(4).meta({ title: "Shards" }),
  extensions: FileListInput.shape.extensions.meta({ title: "Extensions" }),
  max_files: z.int().min(1).max(5000).default(500).meta({ title: "Max files" }),
  format: InventoryFormat.default("markdown").meta({ title: "Format" }),
  title: z.string().min(1).max(200).default("Inventory").meta({ title: "Title" }),
  /** Relative to the folder; by default INVENTORY.md or INVENTORY.json. */
  out: PathInside.optional().meta({ title: "Out" }),
});
type FolderInventoryInput = Readonly<z.output<typeof FolderInventoryInput>>;

const operators = [fileList, fileDigest, mergeOperator, fileWrite] as const;
const outcomes = { "Draft.Inventory": InventoryDraft };

export const folderInventory = defineCapability({
  intentType: "Folder.Inventory.Build",
  version: "1.0",
  description: "Lists and digests the files of a folder in parallel and writes an inventory once approved.",
  keywords: ["inventory", "list the files", "digest the folder"],
  input: FolderInventoryInput,
  operators,
  outcomes,
  plan: ({ input, step }) => planInventory(input, step),
  policyTags: { publish: ["folder-write"] },
  uiActions: {
    publish: [
      { action: "apply", label: "Write the inventory" },
      { action: "edit", label: "Edit the inventory" },
      { action: "discard", label: "Discard" },
    ],
  },
  weights: { list: 1, ...Object.fromEntries(shardNumbers.map((n) => [shardId(n), 3])), merge: 1, publish: 1 },
});

function shardId(n: number): string {
  return `shard_${n}`;
}

function planInventory(
  input: FolderInventoryInput,
  step: StepBuilder<typeof operators, typeof outcomes>,
): ExecutionPlan {
  const { folder, extensions, max_files, title, format } = input;
  const out = input.out ?? outByFormat[format];
  const list = step({
    step_id: "list",
    name: "List the files",
    operator: "File.List",
    params: { folder, max_files, exclude: [out], ...(extensions && { extensions }) },
  });
  const shards = shardNumbers.slice(0, input.shards).map((n) =>
    step({
      step_id: shardId(n),
      name: `Digest shard ${n} of ${input.shards}`,
      operator: "File.Digest",
      params: { folder, files: list.output.files, part: { index: n - 1, of: input.shards } },
    }),
  );
  const merge = step({
    step_id: "merge",
    name: "Merge the shards",
    operator: "Inventory.Merge",
    params: { title, format, listed: list.output, parts: shards.map((shard) => shard.output) },
    outcome: "Draft.Inventory",
  });
  const publish = step({
    step_id: "publish",
    name: "Write the inventory",
    operator: "File.Write",
    params: { folder, path: out, content: merge.output.content },
    applies: merge,
    gate: { reason: `this writes ${out} into the folder` },
  });
  return {
    reasoning:
      `List the files of ${folder}, digest them in ${shards.length} shards side by side, merge, and write ${out} ` +
      `after approval.`,
    steps: [list, ...shards, merge, publish],
  };
}
