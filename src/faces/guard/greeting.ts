/**
 * The server's answer to `initialize` and `server/discover`, with what the guard adds: tasks, where the server has none
 * of its own.
 */
import { isPlainObject, type JsonObject } from "../../contract/json.ts";
import { tasksExtension } from "../mcp/client-abilities.ts";

/** The tasks that the guard offers to clients of 2025-11-25. */
export const ownTasks = { list: {}, cancel: {}, requests: { tools: { call: {} } } };

const capabilitiesOf = (greeting: JsonObject): JsonObject =>
  isPlainObject(greeting["capabilities"]) ? greeting["capabilities"] : {};

const extensionsOf = (capabilities: JsonObject): JsonObject =>
  isPlainObject(capabilities["extensions"]) ? capabilities["extensions"] : {};

/** Returns whether the server runs tasks itself. */
export function offersTasks(greeting: JsonObject): boolean {
  const capabilities = capabilitiesOf(greeting);
  return capabilities["tasks"] !== undefined || extensionsOf(capabilities)[tasksExtension] !== undefined;
}

/** Returns the greeting for the client: the server's, with the guard's tasks if it has tools and no tasks. */
export function mergeGreeting(method: string, greeting: JsonObject): JsonObject {
  const capabilities = capabilitiesOf(greeting);
  if (capabilities["tools"] === undefined || offersTasks(greeting)) return greeting;
  const added =
    method === "initialize"
      ? { tasks: ownTasks }
      : { extensions: { ...extensionsOf(capabilities), [tasksExtension]: {} } };
  return { ...greeting, capabilities: { ...capabilities, ...added } };
}

/** Joins the greetings of several servers: what one of them can, the connection can; tasks stay the guard's. */
export function joinGreetings(greetings: readonly JsonObject[]): JsonObject {
  const capabilities: Record<string, unknown> = {};
  for (const greeting of greetings)
    for (const [name, value] of Object.entries(capabilitiesOf(greeting)))
      if (name !== "tasks" && name !== "extensions")
        capabilities[name] = { ...(capabilities[name] as JsonObject | undefined), ...(value as JsonObject) };
  const versions = greetings.map((one) => String(one["protocolVersion"])).sort();
  const instructions = greetings.flatMap((one) =>
    typeof one["instructions"] === "string" ? [one["instructions"]] : [],
  );
  return {
    protocolVersion: versions[0],
    capabilities,
    serverInfo: { name: "countersign-guard", version: "1" },
    ...(instructions.length > 0 && { instructions: instructions.join("\n\n") }),
  };
}
