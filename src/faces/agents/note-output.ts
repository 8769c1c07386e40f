/** The output of a tool as its framework passes it to models, with the words about changed arguments. */

/** An output of one of the forms that the AI SDK and Mastra share. */
export interface ModelOutput {
  readonly type: string;
  readonly value?: unknown;
}

/** Returns the output with the note before it: in its text, as its first part, or beside its value. */
export function addNote<O extends ModelOutput>(output: O, note: string): O {
  const { type, value } = output;
  if (type === "content" && Array.isArray(value)) return { ...output, value: [{ type: "text", text: note }, ...value] };
  if (type === "text" || type === "error-text") return { ...output, value: `${note}\n${String(value)}` };
  return { ...output, value: { note, output: value } };
}
