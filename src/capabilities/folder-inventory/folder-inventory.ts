// Folder.Inventory.Build: an inventory of a folder, digested by several steps side by side.
// Owns: the plan: list → shard_1 … shard_n → merge → publish, the last behind a gate.
// Never: changes anything but the one report; lists the report it writes.
// INV-1  The plan has `shards` + 3 steps, at most 10, whatever the folder holds.

import { z } from "zod";
import type { ExecutionPlan, PlanStepDraft } from "../../contract/plan.ts";
import { defineCapability } from "../../define/define-capability.ts";
import { fileDigest } from "../../operators/files/file-digest.ts";
import { FileListInput, fileList } from "../../operators/files/file-list.ts";
import { fileWrite } from "../../operators/files/file-write.ts";
import { FolderPath, PathInside } from "../../operators/files/safe-path.ts";
import { InventoryDraft, InventoryFormat, mergeOperator } from "./operators.ts";

const shardNumbers = [1, 2, 3, 4, 5, 6, 7] as const;
const outByFormat = { markdown: "INVENTORY.md", json: "INVENTORY.json" } as const;

export const FolderInventoryInput = z.object({
  folder: FolderPath,
  shards: z.int().min(2).max(shardNumbers.length).default(4),
  extensions: FileListInput.shape.extensions,
  max_files: z.int().min(1).max(5000).default(500),
  format: InventoryFormat.default("markdown"),
  title: z.string().min(1).max(200).default("Inventory"),
  /** Relative to the folder; by default INVENTORY.md or INVENTORY.json. */
  out: PathInside.optional(),
});
type FolderInventoryInput = Readonly<z.output<typeof FolderInventoryInput>>;

export const folderInventory = defineCapability({
  intentType: "Folder.Inventory.Build",
  version: "1.0",
  description: "Lists and digests the files of a folder in parallel and writes an inventory once approved.",
  keywords: ["inventory", "list the files", "digest the folder"],
  input: FolderInventoryInput,
  operators: [fileList, fileDigest, mergeOperator, fileWrite],
  outcomes: { "Draft.Inventory": InventoryDraft },
  plan: ({ input }) => planInventory(input),
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

function planInventory(input: FolderInventoryInput): ExecutionPlan {
  const out = input.out ?? outByFormat[input.format];
  const shards = shardNumbers.slice(0, input.shards);
  return {
    reasoning: `List the files of ${input.folder}, digest them in ${shards.length} shards side by side, merge, and write ${out} after approval.`,
    steps: [
      listStep(input, out),
      ...shards.map((n) => shardStep(input, n)),
      mergeStep(input, shards.map(shardId)),
      publishStep(input.folder, out),
    ],
  };
}

function listStep({ folder, extensions, max_files }: FolderInventoryInput, out: string): PlanStepDraft {
  return {
    step_id: "list",
    name: "List the files",
    operator: "File.List",
    params: { folder, max_files, exclude: [out], ...(extensions && { extensions }) },
  };
}

function shardStep({ folder, shards }: FolderInventoryInput, n: number): PlanStepDraft {
  return {
    step_id: shardId(n),
    name: `Digest shard ${n} of ${shards}`,
    operator: "File.Digest",
    params: { folder, files: "{{list.output.files}}", part: { index: n - 1, of: shards } },
    depends_on: ["list"],
  };
}

function mergeStep({ title, format }: FolderInventoryInput, shards: readonly string[]): PlanStepDraft {
  return {
    step_id: "merge",
    name: "Merge the shards",
    operator: "Inventory.Merge",
    params: { title, format, listed: "{{list.output}}", parts: shards.map((id) => `{{${id}.output}}`) },
    depends_on: ["list", ...shards],
    outcome: "Draft.Inventory",
  };
}

function publishStep(folder: string, out: string): PlanStepDraft {
  return {
    step_id: "publish",
    name: "Write the inventory",
    operator: "File.Write",
    params: { folder, path: out, content: "{{merge.output.content}}" },
    depends_on: ["merge"],
    applies: "merge",
    gate: { reason: `this writes ${out} into the folder` },
  };
}
