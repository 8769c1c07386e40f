/**
 * Notes about a project, read from Markdown, and the two documents made of them. Pure.
 *
 * Owns: the definitions of a section and of a task. Never: invents text: every line of both documents comes from the
 * source, or says that the source has none.
 */
import { escapeMarkdown } from "../markdown.ts";

const maxSections = 50;
const maxTasks = 200;

export interface Section {
  readonly title: string;
  /** The first paragraph below the heading, as one line. */
  readonly lead: string;
}

export interface Task {
  readonly text: string;
  readonly done: boolean;
}

export interface Notes {
  readonly title: string | null;
  readonly sections: readonly Section[];
  readonly tasks: readonly Task[];
}

/**
 * Reads notes. The first heading is the title; text before any heading, and text between headings, is read as their
 * leads.
 */
export function readNotes(text: string): Notes {
  const lines = withoutCode(text.split(/\r?\n/));
  const sections = readSections(lines).slice(0, maxSections);
  return { title: sections[0]?.title ?? null, sections, tasks: readTasks(lines).slice(0, maxTasks) };
}

function withoutCode(lines: readonly string[]): readonly string[] {
  let inside = false;
  return lines.filter((line) => {
    const fence = /^\s*(```|~~~)/.test(line);
    if (fence) inside = !inside;
    return !fence && !inside;
  });
}

function readSections(lines: readonly string[]): readonly Section[] {
  const starts = lines.flatMap((line, index) => (headingOf(line) === null ? [] : [index]));
  return starts.map((start, i) => ({
    title: headingOf(lines[start] ?? "") ?? "",
    lead: readLead(lines.slice(start + 1, starts[i + 1] ?? lines.length)),
  }));
}

/**
 * Returns a heading without the marks that may close it. It is not one pattern: that would take the square of a line's
 * length.
 */
function headingOf(line: string): string | null {
  const title = /^#{1,6}\s+(\S.*)$/.exec(line)?.[1];
  if (title === undefined) return null;
  let end = title.length;
  while (end > 1 && title[end - 1] === "#") end -= 1;
  return title.slice(0, end).trimEnd();
}
const isProse = (line: string): boolean => /^\s*[^\s\-*+>|#<!\d]/.test(line);

function readLead(lines: readonly string[]): string {
  const start = lines.findIndex(isProse);
  if (start < 0) return "";
  const rest = lines.slice(start);
  const end = rest.findIndex((line) => !isProse(line));
  return rest
    .slice(0, end < 0 ? rest.length : end)
    .map((line) => line.trim())
    .join(" ");
}

/** Reads tasks: `- [ ] text`, `- [x] text`, and lines that name remaining work by the usual two words. */
function readTasks(lines: readonly string[]): readonly Task[] {
  return lines.flatMap((line) => {
    const box = /^\s*[-*+]\s+\[([ xX])\]\s+(\S.*)$/.exec(line);
    if (box?.[2] !== undefined) return [{ text: box[2].trim(), done: box[1] !== " " }];
    const todo = /\b(?:TODO|FIXME)\b:?\s+(\S.*)$/.exec(line)?.[1];
    return todo === undefined ? [] : [{ text: todo.trim(), done: false }];
  });
}

export interface DocumentQuestion {
  readonly notes: Notes;
  readonly title: string;
  /** The place where the notes were read. */
  readonly source: string;
}

export function writeSummary({ notes, title, source }: DocumentQuestion): string {
  const { sections, tasks } = notes;
  const open = tasks.filter((task) => !task.done).length;
  const head =
    `# ${escapeMarkdown(title)}\n\nFrom ${escapeMarkdown(source)}: ${sections.length} sections, ${open} open tasks ` +
    `of ${tasks.length}.\n`;
  const body = sections.map(
    (s) => `\n## ${escapeMarkdown(s.title)}\n\n${escapeMarkdown(s.lead, 600) || "(no text)"}\n`,
  );
  return head + (body.join("") || "\nThe source has no sections.\n");
}

/** Writes open tasks first; without any task, one for reading each section. */
export function writeChecklist({ notes, title, source }: DocumentQuestion): string {
  const tasks = listTasks(notes);
  const lines = [...tasks.filter((task) => !task.done), ...tasks.filter((task) => task.done)].map(writeTask);
  return `# ${escapeMarkdown(title)}\n\nFrom ${escapeMarkdown(source)}.\n\n${lines.join("")}`;
}

export function listTasks({ tasks, sections }: Notes): readonly Task[] {
  if (tasks.length > 0) return tasks;
  const reading = sections.map((section) => ({ text: `Read “${section.title}”`, done: false }));
  return reading.length > 0
    ? reading
    : [{ text: "Ask for notes: the source has neither tasks nor sections", done: false }];
}

const writeTask = ({ text, done }: Task): string => `- [${done ? "x" : " "}] ${escapeMarkdown(text, 500)}\n`;
