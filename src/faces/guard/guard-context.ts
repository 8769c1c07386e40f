/** The parts that all connections of a guard share. */
import type { McpContext } from "../mcp/mcp-context.ts";
import type { CallsInFlight } from "./calls-in-flight.ts";
import type { ToolTrust } from "./trust-tools.ts";
import type { Upstream } from "./upstream.ts";

export interface Guarding {
  readonly calls: CallsInFlight;
  readonly upstreams: readonly Upstream[];
  readonly trust: ToolTrust;
  /** The time that a call waits for a person before it answers that it is waiting, in ms. */
  readonly waitMs: number;
  /** The address of the console, where people decide. */
  readonly consoleUrl: () => string;
}

/** One client's connection: its caller, and the guard. */
export interface GuardContext extends McpContext {
  readonly guard: Guarding;
}
