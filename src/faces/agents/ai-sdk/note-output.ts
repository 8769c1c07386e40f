/** The output of a tool as the model reads it, with what it is told of changed arguments. */
import type { Tool } from "ai";

type Told = Parameters<NonNullable<Tool["toModelOutput"]>>[0];
type ModelOutput = Awaited<ReturnType<NonNullable<Tool["toModelOutput"]>>>;

/** Returns the output as the tool gives it to models; with a note, as text or parts that begin with the note. */
export async function noteOutput(tool: Tool, told: Told, note: string | undefined): Promise<ModelOutput> {
  const output = await toModelOutput(tool, told);
  if (note === undefined) return output;
  if (output.type === "content") return { ...output, value: [{ type: "text", text: note }, ...output.value] };
  if (output.type === "text" || output.type === "error-text") return { ...output, value: `${note}\n${output.value}` };
  if (output.type === "json" || output.type === "error-json")
    return { ...output, value: { note, output: output.value } };
  return output;
}

async function toModelOutput(tool: Tool, told: Told): Promise<ModelOutput> {
  if (tool.toModelOutput !== undefined) return tool.toModelOutput(told);
  const { output } = told;
  return typeof output === "string" ? { type: "text", value: output } : { type: "json", value: output ?? null };
}
