/**
 * Asks the person at the terminal for an answer, field by field of the form of a question.
 *
 * Never: says whether an answer follows its form; the kernel does, and the person is shown why it does not.
 */
import type { AnswerForm } from "../../contract/answer-form.ts";
import type { Json, JsonObject } from "../../contract/json.ts";
import { answerOf, describeShown, fieldsOf, readTyped, type ShownField } from "../../protocol/form-fields.ts";
import { showLine } from "../../protocol/visible-text.ts";
import type { Terminal } from "./terminal.ts";

type Asking = Pick<Terminal, "ask" | "print">;

/** Returns the answer; null where the person leaves. */
export async function askForm(form: AnswerForm, terminal: Asking): Promise<JsonObject | null> {
  const members: [string, Json | undefined][] = [];
  for (const field of fieldsOf(form)) {
    const read = await askField(field, terminal);
    if (read === null) return null;
    members.push([field.name, read.value]);
  }
  return answerOf(members);
}

/** Asks until a text can be read as what the field takes. */
async function askField(
  field: ShownField,
  { ask, print }: Asking,
): Promise<{ readonly value: Json | undefined } | null> {
  for (;;) {
    const typed = await ask(`${showLine(field.name)} (${showLine(describeShown(field))}): `);
    if (typed === null) return null;
    const read = readTyped(field, typed);
    if ("problem" in read) print(`Not taken: ${showLine(read.problem)}`);
    else if (read.value === undefined && field.isRequired) print("Not taken: an answer needs it.");
    else return read;
  }
}
