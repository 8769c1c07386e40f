/**
 * The tools that a client's connection lists, by name, with what is known of each: its definition, and whether it may
 * be used.
 *
 * 1.  They are listed when they are first needed, and anew after the server says that they have changed, or shows one
 *     that it did not list so before.
 * 2.  The list is bounded in pages and tools.
 */
import type { Tool } from "@modelcontextprotocol/server";
import { isPlainObject, type JsonObject } from "../../contract/json.ts";
import { mcpError } from "../../packages/operators/mcp/mcp-error.ts";
import { defaultMcpClientLimits } from "../../packages/operators/mcp/mcp-limits.ts";
import { readSeen, type SeenTool } from "./seen-tool.ts";
import type { Refused } from "./trust-tools.ts";

/** Asks the server for one page of its tools. */
export type AskPage = (params: JsonObject) => Promise<JsonObject>;
/** Judges tools; returns those that may not be used. */
export type JudgeTools = (tools: readonly Tool[]) => Promise<ReadonlyMap<string, Refused>>;

export interface ListedTool {
  readonly tool: Tool;
  readonly seen: SeenTool;
}

export class ListedTools {
  readonly #ask: AskPage;
  readonly #judge: JudgeTools;
  #listing: Promise<ReadonlyMap<string, ListedTool>> | null = null;
  #refused: ReadonlyMap<string, Refused> = new Map();

  constructor(ask: AskPage, judge: JudgeTools) {
    this.#ask = ask;
    this.#judge = judge;
  }

  /** Returns the tool of this name; undefined if there is none. @throws KernelErrorException. */
  async find(name: string): Promise<ListedTool | undefined> {
    return (await this.#read()).get(name);
  }

  /** Returns why a tool may not be used; undefined if it may. What waits for a person is looked at again. */
  async refusalOf(name: string): Promise<Refused | undefined> {
    await this.#read();
    if (this.#refused.has(name)) await this.#again();
    return this.#refused.get(name);
  }

  /** Returns those of a page that may be used. */
  async filter(page: unknown): Promise<readonly Tool[]> {
    const known = await this.#read();
    const shown = readTools(page);
    const isNew = ({ tool, seen: { digest } }: ListedTool): boolean => known.get(tool.name)?.seen.digest !== digest;
    if (this.#refused.size > 0 || shown.some(isNew)) await this.#again();
    const now = await this.#read();
    return shown
      .filter(({ tool: { name }, seen }) => !this.#refused.has(name) && now.get(name)?.seen.digest === seen.digest)
      .map(({ tool }) => tool);
  }

  forget(): void {
    this.#listing = null;
  }

  #again(): Promise<unknown> {
    this.forget();
    return this.#read();
  }

  async #read(): Promise<ReadonlyMap<string, ListedTool>> {
    const listing = this.#listing ?? this.#list();
    this.#listing = listing;
    try {
      return await listing;
    } catch (thrown) {
      if (this.#listing === listing) this.forget();
      throw thrown;
    }
  }

  async #list(): Promise<ReadonlyMap<string, ListedTool>> {
    const listed = await listAll(this.#ask);
    this.#refused = await this.#judge(listed.map(({ tool }) => tool));
    return new Map(listed.map((one) => [one.tool.name, one]));
  }
}

/** Lists all tools. @throws KernelErrorException T0_VALIDATION_PAYLOAD_TOO_LARGE beyond the limits. */
async function listAll(ask: AskPage): Promise<readonly ListedTool[]> {
  const { maxPages, maxTools } = defaultMcpClientLimits;
  const tools: ListedTool[] = [];
  let cursor: unknown;
  for (let page = 0; page < maxPages; page += 1) {
    const { tools: listed, nextCursor } = await ask(cursor === undefined ? {} : { cursor });
    tools.push(...readTools(listed));
    if (tools.length > maxTools)
      throw mcpError("T0_VALIDATION_PAYLOAD_TOO_LARGE", `the server lists more than ${maxTools} tools`);
    if (nextCursor === undefined) return tools;
    cursor = nextCursor;
  }
  throw mcpError("T0_VALIDATION_PAYLOAD_TOO_LARGE", `the server lists its tools on more than ${maxPages} pages`);
}

/** Returns the tools of a page. What has no name, or no digest, is no tool. */
function readTools(page: unknown): readonly ListedTool[] {
  return (Array.isArray(page) ? page : []).flatMap((tool: unknown) => {
    if (!isPlainObject(tool) || typeof tool["name"] !== "string") return [];
    try {
      return [{ tool: tool as unknown as Tool, seen: readSeen(tool as unknown as Tool) }];
    } catch {
      return [];
    }
  });
}
