/**
 * The way to one MCP server: a line that is there when it is needed, and a new one after it broke.
 *
 * Owns: the line in use, and all lines that are still open. Never: tries twice by itself: an attempt that fails has
 * failed, and the kernel makes the next one.
 * 1.  Calls that come while a line is being opened share it; one that broke serves nobody new.
 * 2.  After close() nothing of it is left: no line, no child process, no waiting call.
 */
import type { Tool, Transport } from "@modelcontextprotocol/client";
import { orAborted } from "../llm/read-answer.ts";
import { type LineOptions, McpLine } from "./line.ts";
import { isAnswered, mcpError, readConnectFailure } from "./mcp-error.ts";

/** A transport stands for one connection; a function makes another one after each that broke. */
export type TransportSource = Transport | (() => Transport | Promise<Transport>);

export interface ConnectionOptions extends LineOptions {
  readonly transport: TransportSource;
}

export interface Use {
  readonly signal?: AbortSignal | undefined;
  /** Lists the tools in any case. */
  readonly relist?: boolean;
}

export class McpConnection {
  readonly #options: ConnectionOptions;
  readonly #makeTransport: () => Transport | Promise<Transport>;
  readonly #open = new Set<McpLine>();
  #line: McpLine | null = null;
  #closed = false;

  constructor(options: ConnectionOptions) {
    this.#options = options;
    this.#makeTransport = oncePerTransport(options.transport);
  }

  /**
   * Works with a line and the tools that its server has now. A failure that is no answer ends the line.
   * @throws KernelErrorException where no line comes about; whatever `work` throws.
   */
  async use<T>(work: (line: McpLine) => Promise<T>, { signal, relist = false }: Use = {}): Promise<T> {
    const ready = this.#ready(relist);
    const line = await (signal === undefined ? ready : orAborted(ready, signal));
    return line.hold(async () => {
      try {
        return await work(line);
      } catch (thrown) {
        if (!isAnswered(thrown) && signal?.aborted !== true) line.retire();
        throw thrown;
      }
    });
  }

  /** Returns the present tools. @throws KernelErrorException. */
  tools(): Promise<readonly Tool[]> {
    return this.use(async ({ tools }) => tools, { relist: true });
  }

  async close(): Promise<void> {
    this.#closed = true;
    await Promise.all([...this.#open].map((line) => line.close()));
  }

  async #ready(relist: boolean): Promise<McpLine> {
    if (this.#closed) throw mcpError("T4_TOOL_EXECUTION_FAILED", "this MCP client was closed", { retry: false });
    const line = this.#line === null || this.#line.isBroken ? this.#connect() : this.#line;
    try {
      await line.opened;
      await line.list(relist);
      return line;
    } catch (thrown) {
      if (!isAnswered(thrown)) line.retire();
      throw readConnectFailure(line.fault ?? thrown);
    }
  }

  #connect(): McpLine {
    const line = new McpLine(this.#options, this.#makeTransport);
    line.client.onclose = () => {
      this.#open.delete(line);
      line.retire();
    };
    line.opened.catch(() => this.#open.delete(line));
    this.#open.add(line);
    this.#line = line;
    return line;
  }
}

function oncePerTransport(source: TransportSource): () => Transport | Promise<Transport> {
  if (typeof source === "function") return source;
  let used = false;
  return () => {
    if (used)
      throw mcpError("T4_TOOL_EXECUTION_FAILED", "the transport ended; give a function that makes a new one", {
        retry: false,
      });
    used = true;
    return source;
  };
}
