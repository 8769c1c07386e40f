/**
 * The operators of the handover package: a summary and a checklist from the text of a source file.
 *
 * Owns: the shapes of the two outcomes. Never: reads or writes a file (File.Read and File.Write do).
 */
import { z } from "zod";
import { defineOperator } from "../../../define/define-operator.ts";
import { listTasks, readNotes, writeChecklist, writeSummary } from "./notes.ts";

/** `source` is what File.Read yields. */
const HandoverSource = z.object({
  title: z.string().min(1).max(200),
  source: z.object({ path: z.string(), content: z.string() }),
});

export const HandoverSummaryDraft = z.object({ markdown: z.string().min(1), sections: z.int().nonnegative() });
export const HandoverChecklistDraft = z.object({
  markdown: z.string().min(1),
  open: z.int().nonnegative(),
  done: z.int().nonnegative(),
});

export const summarizeOperator = defineOperator({
  name: "Handover.Summarize",
  version: "1.0",
  description: "Summarises the notes of a project section by section.",
  input: HandoverSource,
  output: HandoverSummaryDraft,
  effect: "write_draft",
  idempotent: true,
  run: ({ input: { title, source }, stream }) => {
    const notes = readNotes(source.content);
    const markdown = writeSummary({ notes, title, source: source.path });
    stream(markdown);
    return { markdown, sections: notes.sections.length };
  },
});

export const checklistOperator = defineOperator({
  name: "Handover.Checklist",
  version: "1.0",
  description: "Makes a checklist of the tasks in the notes of a project.",
  input: HandoverSource,
  output: HandoverChecklistDraft,
  effect: "write_draft",
  idempotent: true,
  run: ({ input: { title, source }, stream }) => {
    const notes = readNotes(source.content);
    const tasks = listTasks(notes);
    const markdown = writeChecklist({ notes, title, source: source.path });
    stream(markdown);
    const done = tasks.filter((task) => task.done).length;
    return { markdown, open: tasks.length - done, done };
  },
});
