/**
 * The SDK's server, with an additional result for tool calls: they may begin a task.
 *
 * Owns: the extension of the SDK. The SDK 2.4 has the schemas of tasks (2025-11-25, and the extension of 2026-07-28)
 * and runs none; a result of `tools/call` that is a task passes by its check for tool results, and nothing else does.
 */
import {
  type JSONRPCRequest,
  type Result,
  Server,
  type ServerContext,
  type ServerOptions,
} from "@modelcontextprotocol/server";

type Handler = (request: JSONRPCRequest, ctx: ServerContext) => Promise<Result>;

/** The task that a call begins, or null where it is an ordinary call. */
export type BeginTask = (request: JSONRPCRequest, ctx: ServerContext) => Promise<Result | null>;

export class KernelServer extends Server {
  readonly #begin: BeginTask;

  constructor(info: { readonly name: string; readonly version: string }, options: ServerOptions, begin: BeginTask) {
    super(info, options);
    this.#begin = begin;
  }

  protected override _wrapHandler(method: string, handler: Handler): Handler {
    const guarded = super._wrapHandler(method, handler);
    if (method !== "tools/call") return guarded;
    return async (request, ctx) => (await this.#begin(request, ctx)) ?? guarded(request, ctx);
  }
}
