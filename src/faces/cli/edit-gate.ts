/**
 * Lets a person change what a gate would run: in their editor ($VISUAL, $EDITOR), or in a file of their choice where none is
 * set. A text is edited as a text, all else as JSON.
 *
 * Owns: the temporary file, which is gone afterwards; which member of a value is its text.
 * 1.  A text that is as it was is no edit (null).
 * 2.  What is shown as the change is made from what will be sent.
 * 3.  A text that cannot be read is handed back with the error, so that it can be corrected.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Gate } from "../../contract/gate.ts";
import { isPlainObject, type JsonObject } from "../../contract/json.ts";
import { unifiedDiff } from "../../packages/operators/files/unified-diff.ts";
import { decodeUtf8 } from "../../protocol/decode-utf8.ts";
import { readJsonObject } from "./options.ts";
import { type Section, showDiff, styleOfDiff } from "./render-gate.ts";
import type { Terminal } from "./terminal.ts";

/** The members that replace those of the gate's value, and how a person sees the difference. */
export interface GateEdit {
  readonly edit: JsonObject;
  readonly sections: readonly Section[];
}

/** The refusal of a text that is no JSON object, with that text. */
export class UnreadableText extends Error {
  readonly text: string;

  constructor(text: string, message: string) {
    super(message);
    this.text = text;
  }
}

/** What a person has made of a gate so far: the last edit, and the last text, if it could not be read. */
export interface Begun {
  readonly edit: GateEdit | null;
  readonly unread: string | null;
}

/** Of the members that are a text of several lines the longest; null where there is none. */
export function findText(value: JsonObject): string | null {
  const texts = Object.entries(value).flatMap(([name, member]) =>
    typeof member === "string" && member.includes("\n") ? [{ name, length: member.length }] : [],
  );
  return texts.toSorted((a, b) => b.length - a.length)[0]?.name ?? null;
}

/**
 * Returns the edit, null for none. What was begun is changed further, and its edit stays where the person gives up.
 * @throws UnreadableText for a text that is no JSON object.
 */
export async function editGate(gate: Gate, terminal: Terminal, begun: Begun): Promise<GateEdit | null> {
  const value = gate.editable?.value;
  if (!isPlainObject(value)) return null;
  const member = findText(value);
  const name = member === null ? "payload.json" : member === "markdown" ? "draft.md" : "draft.txt";
  const text = await editText(name, begun.unread ?? textOf({ ...value, ...begun.edit?.edit }, member), terminal);
  if (text === null) return begun.edit;
  const old = textOf(value, member);
  if (text === old) return null;
  const edit = member === null ? readObject(text) : { [member]: text };
  return { edit, sections: sectionsOf({ path: member ?? "payload", before: old, after: text }) };
}

/** Returns an edit as it changes the gate's value as it stands now; null where there is nothing that it could change. */
export function describeEdit(gate: Gate, edit: JsonObject): GateEdit | null {
  const value = gate.editable?.value;
  if (!isPlainObject(value)) return null;
  const member = findText(value);
  const change = { before: textOf(value, member), after: textOf({ ...value, ...edit }, member) };
  return { edit, sections: sectionsOf({ path: member ?? "payload", ...change }) };
}

function readObject(text: string): JsonObject {
  try {
    return readJsonObject(text);
  } catch (error) {
    throw new UnreadableText(text, (error as Error).message);
  }
}

/** What is edited: the member that is a text, or all of the value as JSON. */
const textOf = (whole: JsonObject, member: string | null): string =>
  member === null ? `${JSON.stringify(whole, null, 2)}\n` : String(whole[member]);

const sectionsOf = (change: Parameters<typeof unifiedDiff>[0]): readonly Section[] => [
  { title: "Your changes", text: showDiff(unifiedDiff(change)), styleOf: styleOfDiff },
];

/** Null where the person gives up. */
async function editText(name: string, text: string, terminal: Terminal): Promise<string | null> {
  const folder = await mkdtemp(join(tmpdir(), "countersign-"));
  const file = join(folder, name);
  try {
    await writeFile(file, text, { mode: 0o600 });
    const { editor } = terminal;
    return await (editor === null ? askForFile(file, terminal) : editWith(editor, file, terminal));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** The variable may hold arguments, as in `code --wait`; the shell takes it apart, as git's does. */
async function editWith(editor: string, file: string, terminal: Terminal): Promise<string | null> {
  const child = spawn(`${editor} "${file}"`, { shell: true, stdio: "inherit" });
  const [code] = (await once(child, "exit")) as [number | null];
  return code === 0 ? readEdited(file, terminal) : null;
}

/** The text of a file; null where it cannot be read as text, which the person is told. */
async function readEdited(file: string, terminal: Terminal): Promise<string | null> {
  try {
    return decodeUtf8(await readFile(file));
  } catch (error) {
    terminal.print(`${file} cannot be read: ${(error as Error).message}. Nothing is changed.`);
    return null;
  }
}

async function askForFile(file: string, terminal: Terminal): Promise<string | null> {
  const question = `No $EDITOR is set. Change ${file}, or name another file, then press Enter ("-" for no change): `;
  const answer = await terminal.ask(question);
  if (answer === null || answer.trim() === "-") return null;
  return readEdited(answer.trim() || file, terminal);
}
