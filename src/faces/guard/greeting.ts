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
