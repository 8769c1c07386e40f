/**
 * The options of the MCP face: its name, its limits, its clock, and the caller of a connection.
 *
 * Owns: the defaults. Never: knows a role; T5 does. `scopes` of a credential only narrow what its principal may do
 * here.
 */
import { z } from "zod";
import { ScopedCaller } from "../../contract/auth-context.ts";
import { limitsOf, objectWith, requireKernel } from "../../contract/host-object.ts";
import { readStrictly } from "../../contract/known-keys.ts";
import { moduleRef } from "../../contract/module-ref.ts";
import { type Clock, type Logger, wallClock } from "../../index.ts";

/** The default limits of MCP. */
export const defaultMcpLimits = {
  /** Bytes of one message. */
  maxBodyBytes: 1_000_000,
  /** Levels of nesting in a message. */
  maxDepth: 64,
  /** Items of one page: tools, resources, tasks, events. */
  maxPage: 100,
  /**
   * The limit on the characters of the events of one page, as JSON; a page has one event at least, whatever its size.
   */
  maxPageChars: 1_000_000,
  /** Sessions open at once, over all callers of one handler. */
  maxSessions: 1_000,
  /** Those of one principal. */
  maxSessionsPerCaller: 100,
  /** The time after which an idle session is ended. */
  sessionIdleMs: 1_800_000,
  /** Resources that one connection watches. */
  maxSubscriptions: 100,
  /** Streams of subscriptions/listen open at once, over all callers of one handler. */
  maxStreams: 1_000,
  /** Those of one principal. */
  maxStreamsPerCaller: 32,
  /** The time that a person may take over one question before the call stops waiting; the gate stays open. */
  elicitationMs: 3_600_000,
  /** Questions that one call may ask, one after the other. */
  maxQuestions: 32,
  /** The recommended interval at which clients look at a task. */
  pollIntervalMs: 1_000,
} as const;
/** Limits of MCP, by name. */
export type McpLimits = { readonly [K in keyof typeof defaultMcpLimits]: number };

const minKeyBytes = 32;

/** The options of MCP over any transport. */
export const McpOptions = z.strictObject({
  /** The server's name for clients; "countersign" by default. */
  name: z.string().default("countersign"),
  /** The server's version for clients; "0" by default. */
  version: z.string().default("0"),
  /** Limits that replace those of `defaultMcpLimits`. */
  limits: limitsOf<McpLimits>(defaultMcpLimits),
  /**
   * True: people may answer gates over these connections, by the tool decide-gate and by questions (elicitation). It
   * requires a principal of type `user` with `gate:approve`, and a client that puts questions to that person and not to
   * its model. Off by default: an agent's credential answers no gate.
   */
  answersGates: z.boolean().default(false),
  /**
   * The key that seals questions, at least 32 bytes that only the servers of one address know. It is random by default:
   * a question is then valid only at the server that asked it, while that runs.
   */
  stateKey: z
    .custom<Uint8Array>(
      (key) => key instanceof Uint8Array && key.length >= minKeyBytes,
      `has at least ${minKeyBytes} bytes`,
    )
    .default(() => crypto.getRandomValues(new Uint8Array(minKeyBytes))),
  /** The clock of the idle time of sessions; the machine's by default. */
  clock: objectWith<Clock>("now", "setTimer").default(() => wallClock),
  /** Receives failures of the server itself. */
  logger: objectWith<Logger>().optional(),
});
export interface McpOptions extends Readonly<z.input<typeof McpOptions>> {}
export type ResolvedMcpOptions = z.output<typeof McpOptions>;

/** The options of a server for one connection. */
export const McpServerOptions = McpOptions.extend({
  /** The caller of the connection. */
  caller: ScopedCaller,
});
export interface McpServerOptions extends Readonly<z.input<typeof McpServerOptions>> {}

const source = moduleRef(0, "mcp", "options");

/**
 * Reads the options of a server. @throws KernelErrorException T0_VALIDATION_SCHEMA_MISMATCH if `kernel` is no kernel,
 * or an option is invalid.
 */
export function readMcpOptions<S extends z.ZodType>(schema: S, kernel: unknown, given: unknown): z.output<S> {
  const reading = { what: "createMcpServer", source };
  requireKernel(kernel, reading);
  return readStrictly(schema, given, reading);
}

/** Checks a caller. @throws KernelErrorException T0_VALIDATION_SCHEMA_MISMATCH for an invalid one. */
export function requireCaller(given: unknown): ScopedCaller {
  return readStrictly(ScopedCaller, given, { what: "createMcpServer: caller", source });
}

/** Returns the name under which limits count a caller, whatever role or scopes they have. */
export const ownerOf = ({ tenant_id, principal }: ScopedCaller): string =>
  JSON.stringify([tenant_id, principal.type, principal.id]);
