/**
 * What the MCP face may be told: its name, its limits, its clock, and on whose behalf a connection speaks.
 *
 * Owns: the defaults. Never: knows a role; T5 does. `scopes` of a credential only narrow what its principal may do here.
 */
import { ScopedCaller } from "../../contract/auth-context.ts";
import { kernelError } from "../../contract/error-codes.ts";
import { requireKernel, takeOptions } from "../../contract/host-object.ts";
import { raise } from "../../contract/kernel-error.ts";
import { type KeysOf, readStrictly, requireKnownKeys } from "../../contract/known-keys.ts";
import { moduleRef } from "../../contract/module-ref.ts";
import { type Clock, type Logger, wallClock } from "../../index.ts";

/** The limits of MCP where none are given. */
export const defaultMcpLimits = {
  /** Bytes of one message. */
  maxBodyBytes: 1_000_000,
  /** Levels of nesting in a message. */
  maxDepth: 64,
  /** Items of one page: tools, resources, tasks, events. */
  maxPage: 100,
  /** Characters of the events of one page, as JSON; a page has one event at least, whatever its size. */
  maxPageChars: 1_000_000,
  /** Sessions open at once, over all callers of one handler. */
  maxSessions: 1_000,
  /** Those of one principal. */
  maxSessionsPerCaller: 100,
  /** A session that nobody spoke in for so long is ended. */
  sessionIdleMs: 1_800_000,
  /** Resources that one connection watches. */
  maxSubscriptions: 100,
  /** Streams of subscriptions/listen open at once, over all callers of one handler. */
  maxStreams: 1_000,
  /** Those of one principal. */
  maxStreamsPerCaller: 32,
  /** How long a person may take over one question before the call gives up waiting; the gate stays open. */
  elicitationMs: 3_600_000,
  /** Questions that one call may ask, one after the other. */
  maxQuestions: 32,
  /** What clients are told to wait between two looks at a task. */
  pollIntervalMs: 1_000,
} as const;
/** Limits of MCP, by name. */
export type McpLimits = { readonly [K in keyof typeof defaultMcpLimits]: number };

/** What MCP is told, whatever carries it. */
export interface McpOptions {
  /** What clients are told of the server; "countersign" by default. */
  readonly name?: string;
  /** What clients are told beside the name; "0" by default. */
  readonly version?: string;
  /** In place of those of `defaultMcpLimits`. */
  readonly limits?: Partial<McpLimits>;
  /**
   * True: people may answer gates over these connections, by the tool decide-gate and by questions (elicitation). It takes
   * a principal of type `user` with `gate:approve`, and a client that puts questions to that person and not to its model.
   * Off by default: an agent's credential answers no gate.
   */
  readonly answersGates?: boolean;
  /**
   * At least 32 bytes that only the servers of one address know: questions come back under its seal. Random by default,
   * and then a question counts only at the server that asked it, for as long as that runs.
   */
  readonly stateKey?: Uint8Array;
  /** For the idle time of sessions; the machine's by default. */
  readonly clock?: Clock;
  /** Hears of failures that are nobody's fault but the server's. */
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

/** What a server is made with. @throws KernelErrorException T0_VALIDATION_SCHEMA_MISMATCH: it is no kernel, or no options. */
export function takeMcpOptions<T extends object>(kernel: unknown, options: T): T {
  requireKernel(kernel, reading);
  return takeOptions(options, reading);
}

const known = { name: 0, version: 0, limits: 0, answersGates: 0, stateKey: 0, clock: 0, logger: 0 } satisfies KeysOf<
  Required<McpOptions>
>;

/** @throws KernelErrorException T0_VALIDATION_SCHEMA_MISMATCH: a limit or a key is not one, or an option is not known. */
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

/** @throws KernelErrorException T0_VALIDATION_SCHEMA_MISMATCH: this is nobody who could call. */
export function requireCaller(given: unknown): ScopedCaller {
  return readStrictly(ScopedCaller, given, { what: "createMcpServer: caller", source: optionsRef });
}

function refuseOptions(reason: string): never {
  return raise(kernelError("T0_VALIDATION_SCHEMA_MISMATCH", `createMcpServer: ${reason}`, optionsRef));
}

/** Whom limits of one caller count for, whatever role or scopes they come with. */
export const ownerOf = ({ tenant_id, principal }: ScopedCaller): string =>
  JSON.stringify([tenant_id, principal.type, principal.id]);
