/**
 * Lets a person change what a gate would run: in their editor ($VISUAL, $EDITOR), or in a file of their choice if no
 * editor is set. A text member is edited as text, any other value as JSON.
 *
 * Owns: the temporary file, which is removed afterwards, and the choice of the member that is edited as text.
 * 1.  An unchanged text is no edit (null).
 * 2.  The change that is shown is computed from the edit that will be sent.
 * 3.  A text that cannot be parsed is returned with the error, so that the person can correct it.
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

/** The members that replace those of the gate's value, and the difference as a person sees it. */
export interface GateEdit {
  readonly edit: JsonObject;
  readonly sections: readonly Section[];
}

/** The refusal of a text that is not a JSON object. It carries that text. */
export class UnreadableText extends Error {
  readonly text: string;

  constructor(text: string, message: string) {
    super(message);
    this.text = text;
  }
}

/** The person's progress on a gate: the last edit, and the last text if it could not be parsed. */
export interface Begun {
  readonly edit: GateEdit | null;
  readonly unread: string | null;
}

/** Finds the member with the longest text of several lines; null if no member has one. */
export function findText(value: JsonObject): string | null {
  const texts = Object.entries(value).flatMap(([name, member]) =>
    typeof member === "string" && member.includes("\n") ? [{ name, length: member.length }] : [],
  );
  return texts.toSorted((a, b) => b.length - a.length)[0]?.name ?? null;
}

/**
 * Opens the editor and returns the edit, or null if nothing was changed. An earlier edit is the starting point, and it
 * is kept if the person gives up.
 * @throws UnreadableText if the text is not a JSON object.
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

/**
 * Returns an edit together with the change that it makes to the gate's present value; null if the gate has no editable
 * value.
 */
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

/** Returns the text to edit: the text member, or the whole value as JSON. */
const textOf = (whole: JsonObject, member: string | null): string =>
  member === null ? `${JSON.stringify(whole, null, 2)}\n` : String(whole[member]);

const sectionsOf = (change: Parameters<typeof unifiedDiff>[0]): readonly Section[] => [
  { title: "Your changes", text: showDiff(unifiedDiff(change)), styleOf: styleOfDiff },
];

/** Runs the editor on a temporary file and returns the edited text, or null if the person gives up. */
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

/**
 * Runs the person's editor on a file. The variable may hold arguments, such as `code --wait`; the shell splits it, as
 * git's shell does.
 */
async function editWith(editor: string, file: string, terminal: Terminal): Promise<string | null> {
  const child = spawn(`${editor} "${file}"`, { shell: true, stdio: "inherit" });
  const [code] = (await once(child, "exit")) as [number | null];
  return code === 0 ? readEdited(file, terminal) : null;
}

/** Reads an edited file. Returns null and tells the person if it cannot be read as text. */
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
