/** The output of a tool as the AI SDK passes it to models. */
import type { Tool } from "ai";
import { addNote } from "../note-output.ts";

type Told = Parameters<NonNullable<Tool["toModelOutput"]>>[0];
type ModelOutput = Awaited<ReturnType<NonNullable<Tool["toModelOutput"]>>>;

/** Returns the output as the tool gives it to models, with a note before it if there is one. */
export async function noteOutput(tool: Tool, told: Told, note: string | undefined): Promise<ModelOutput> {
  const output = await toModelOutput(tool, told);
  return note === undefined ? output : addNote(output, note);
}

async function toModelOutput(tool: Tool, told: Told): Promise<ModelOutput> {
  if (tool.toModelOutput !== undefined) return tool.toModelOutput(told);
  const { output } = told;
  return typeof output === "string" ? { type: "text", value: output } : { type: "json", value: output ?? null };
}
