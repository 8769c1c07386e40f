/**
 * The options of the MCP face: its name, its limits, its clock, and the caller of a connection.
 *
 * Owns: the defaults. Never: knows a role; T5 does. `scopes` of a credential only narrow what its principal may do
 * here.
 */
import { ScopedCaller } from "../../contract/auth-context.ts";
import { kernelError } from "../../contract/error-codes.ts";
import { requireKernel, takeOptions } from "../../contract/host-object.ts";
import { raise } from "../../contract/kernel-error.ts";
import { type KeysOf, readStrictly, requireKnownKeys } from "../../contract/known-keys.ts";
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

/** The options of MCP over any transport. */
export interface McpOptions {
  /** The server's name for clients; "countersign" by default. */
  readonly name?: string;
  /** The server's version for clients; "0" by default. */
  readonly version?: string;
  /** Limits that replace those of `defaultMcpLimits`. */
  readonly limits?: Partial<McpLimits>;
  /**
   * True: people may answer gates over these connections, by the tool decide-gate and by questions (elicitation). It
   * requires a principal of type `user` with `gate:approve`, and a client that puts questions to that person and not to
   * its model. Off by default: an agent's credential answers no gate.
   */
  readonly answersGates?: boolean;
  /**
   * The key that seals questions, at least 32 bytes that only the servers of one address know. It is random by default:
   * a question is then valid only at the server that asked it, while that runs.
   */
  readonly stateKey?: Uint8Array;
  /** The clock of the idle time of sessions; the machine's by default. */
  readonly clock?: Clock;
  /** Receives failures of the server itself. */
  readonly logger?: Logger;
}

export interface ResolvedMcpOptions {
  readonly name: string;
  readonly version: string;
  readonly limits: McpLimits;
  readonly answersGates: boolean;
  readonly stateKey: Uint8Array;
  readonly clock: Clock;
  readonly logger: Logger | undefined;
}

const minKeyBytes = 32;
const optionsRef = moduleRef(0, "mcp", "options");

const reading = { what: "createMcpServer", source: optionsRef };

/**
 * Checks the arguments of a server. @throws KernelErrorException T0_VALIDATION_SCHEMA_MISMATCH: it is no kernel, or no
 * options.
 */
export function takeMcpOptions<T extends object>(kernel: unknown, options: T): T {
  requireKernel(kernel, reading);
  return takeOptions(options, reading);
}

const known = { name: 0, version: 0, limits: 0, answersGates: 0, stateKey: 0, clock: 0, logger: 0 } satisfies KeysOf<
  Required<McpOptions>
>;

/**
 * Resolves the options. @throws KernelErrorException T0_VALIDATION_SCHEMA_MISMATCH: a limit or a key is invalid, or an
 * option is unknown.
 */
export function resolveMcpOptions(options: McpOptions): ResolvedMcpOptions {
  requireKnownKeys(options, known, reading);
  const { name = "countersign", version = "0", limits: given = {}, clock = wallClock, logger } = options;
  const { answersGates = false, stateKey = crypto.getRandomValues(new Uint8Array(minKeyBytes)) } = options;
  requireKnownKeys(given, defaultMcpLimits, { ...reading, path: "limits" });
  const limits = { ...defaultMcpLimits, ...given };
  for (const [limit, value] of Object.entries(limits))
    if (!Number.isSafeInteger(value) || value <= 0) refuseOptions(`${limit} is a whole number above 0`);
  if (!(stateKey instanceof Uint8Array) || stateKey.length < minKeyBytes)
    refuseOptions(`stateKey has at least ${minKeyBytes} bytes`);
  return { name, version, limits, answersGates, stateKey, clock, logger };
}

/** Checks a caller. @throws KernelErrorException T0_VALIDATION_SCHEMA_MISMATCH for an invalid one. */
export function requireCaller(given: unknown): ScopedCaller {
  return readStrictly(ScopedCaller, given, { what: "createMcpServer: caller", source: optionsRef });
}

function refuseOptions(reason: string): never {
  return raise(kernelError("T0_VALIDATION_SCHEMA_MISMATCH", `createMcpServer: ${reason}`, optionsRef));
}

/** Returns the name under which limits count a caller, whatever role or scopes they have. */
export const ownerOf = ({ tenant_id, principal }: ScopedCaller): string =>
  JSON.stringify([tenant_id, principal.type, principal.id]);
