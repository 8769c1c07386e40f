/**
 * The tools that a client's connection lists, by name: what a call needs to know of its tool.
 *
 * 1.  They are listed when a call first needs them, and anew after the server says that they have changed.
 * 2.  The list is bounded in pages and tools.
 */
import type { Tool } from "@modelcontextprotocol/server";
import type { JsonObject } from "../../contract/json.ts";
import { mcpError } from "../../packages/operators/mcp/mcp-error.ts";
import { defaultMcpClientLimits } from "../../packages/operators/mcp/mcp-limits.ts";

/** Asks the server for one page of its tools. */
export type AskPage = (params: JsonObject) => Promise<JsonObject>;

export class ListedTools {
  readonly #ask: AskPage;
  #listing: Promise<ReadonlyMap<string, Tool>> | null = null;

  constructor(ask: AskPage) {
    this.#ask = ask;
  }

  /** Returns the tool of this name; undefined if there is none. @throws KernelErrorException. */
  async find(name: string): Promise<Tool | undefined> {
    this.#listing ??= this.#list();
    try {
      return (await this.#listing).get(name);
    } catch (thrown) {
      this.#listing = null;
      throw thrown;
    }
  }

  forget(): void {
    this.#listing = null;
  }

  async #list(): Promise<ReadonlyMap<string, Tool>> {
    const { maxPages, maxTools } = defaultMcpClientLimits;
    const tools = new Map<string, Tool>();
    let cursor: unknown;
    for (let page = 0; page < maxPages; page += 1) {
      const { tools: listed, nextCursor } = await this.#ask(cursor === undefined ? {} : { cursor });
      for (const tool of Array.isArray(listed) ? (listed as readonly Tool[]) : []) tools.set(tool.name, tool);
      if (tools.size > maxTools)
        throw mcpError("T0_VALIDATION_PAYLOAD_TOO_LARGE", `the server lists more than ${maxTools} tools`);
      if (nextCursor === undefined) return tools;
      cursor = nextCursor;
    }
    throw mcpError("T0_VALIDATION_PAYLOAD_TOO_LARGE", `the server lists its tools on more than ${maxPages} pages`);
  }
}
