/**
 * The ready-made packages and the operators they are made of: what a host registers to try the kernel on real work.
 *
 * Owns: nothing; the kernel never imports this room. Each package plans without a model or the network, and each
 * writes only behind a gate.
 */
export { fileDigest } from "../operators/files/file-digest.ts";
export { fileList } from "../operators/files/file-list.ts";
export { fileRead } from "../operators/files/file-read.ts";
export { createFileWrite, fileWrite } from "../operators/files/file-write.ts";
export { createGitLog, gitLog } from "../operators/git-log/git-log.ts";
export { FolderInventoryInput, folderInventory } from "./folder-inventory/folder-inventory.ts";
export { InventoryDraft, mergeOperator } from "./folder-inventory/operators.ts";
export { HandoverInput, projectHandover } from "./handover/handover.ts";
export {
  checklistOperator,
  HandoverChecklistDraft,
  HandoverSummaryDraft,
  summarizeOperator,
} from "./handover/operators.ts";
export { ReleaseNotesDraft } from "./release-notes/change.ts";
export { checkOperator, classifyOperator, draftOperator, groupOperator } from "./release-notes/operators.ts";
export { ReleaseNotesInput, releaseNotes } from "./release-notes/release-notes.ts";
