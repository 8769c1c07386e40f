/**
 * Lets a person change a text: in their editor ($VISUAL, $EDITOR), or in a file of their choice where none is set.
 * Owns: the temporary file, which is gone afterwards. Never: keeps an unchanged text as an edit (null instead).
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** The changed text; null where nothing changed or the person gave up. `name` is the file's name in the editor. */
export async function editText(text: string, name: string, signal: AbortSignal): Promise<string | null> {
  const folder = await mkdtemp(join(tmpdir(), "countersign-"));
  const file = join(folder, name);
  try {
    await writeFile(file, text, { mode: 0o600 });
    const editor = process.env["VISUAL"] || process.env["EDITOR"];
    const edited = editor ? await editWith(editor, file) : await askForFile(file, signal);
    return edited === null || edited === text ? null : edited;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** The variable may hold arguments, as in `code --wait`; the shell takes it apart, as git's does. */
async function editWith(editor: string, file: string): Promise<string | null> {
  const child = spawn(`${editor} "${file}"`, { shell: true, stdio: "inherit" });
  const [code] = (await once(child, "exit")) as [number | null];
  return code === 0 ? readFile(file, "utf8") : null;
}

async function askForFile(file: string, signal: AbortSignal): Promise<string | null> {
  const { isCancel, text } = await import("@clack/prompts");
  const message = "No $EDITOR is set. Change this file, or name another one, then press Enter";
  const validate = (path = "") => (existsSync(path) ? undefined : "There is no such file.");
  const path = await text({ message, initialValue: file, validate, signal });
  return isCancel(path) ? null : readFile(path, "utf8");
}
