/**
 * The options that the faces for agents share: who may answer gates, limits, clock, log.
 *
 * Owns: the defaults. Never: knows a role; T5 does. `scopes` of a credential only narrow what its principal may do
 * here.
 */
import { z } from "zod";
import { limitsOf, objectWith, requireKernel } from "../../contract/host-object.ts";
import { readStrictly } from "../../contract/known-keys.ts";
import { moduleRef } from "../../contract/module-ref.ts";
import { type Clock, guardLogger, type Logger, wallClock } from "../../index.ts";

/** The default limits of A2A and of AG-UI. */
export const defaultAgentLimits = {
  /** Bytes of one message. */
  maxBodyBytes: 1_000_000,
  /** Levels of nesting in a message. */
  maxDepth: 64,
  /** Tasks of one page. */
  maxPage: 100,
  /** Streams open at once, and requests that wait for a workflow, over all callers of one handler. */
  maxStreams: 1_000,
  /** The number of them for one tenant. */
  maxStreamsPerTenant: 750,
  /** The number of them for one principal. */
  maxStreamsPerCaller: 32,
  /** Bytes of one message of a stream; a stream ends before a larger one. */
  maxStreamMessageBytes: 16_000_000,
  /** The time after which a client of a stream is cut off if it takes nothing although something is available. */
  maxStallMs: 30_000,
  /** The time that an answer waits for its workflow before it shows the workflow as it is. */
  maxWaitMs: 30_000,
  /** The time for which an interrupt can be answered; a run that follows the workflow makes another. */
  interruptMs: 86_400_000,
  /** Notifications that one task may have. */
  maxPushPerTask: 8,
  /** Notifications of one handler. */
  maxPush: 10_000,
  /** Attempts at one notification before it is given up. */
  maxPushAttempts: 12,
} as const;
/** Limits of A2A and AG-UI, by name. */
export type AgentLimits = { readonly [K in keyof typeof defaultAgentLimits]: number };

/** The members that the options of both faces have. */
export const agentOptions = {
  /** Limits that replace those of `defaultAgentLimits`. */
  limits: limitsOf<AgentLimits>(defaultAgentLimits),
  /** A comment keeps an idle stream open this often; 15 000 ms by default. */
  heartbeatMs: z.int().positive().default(15_000),
  /** The clock of heartbeats, waits and expiries; the machine's by default. */
  clock: objectWith<Clock>("now", "setTimer").default(() => wallClock),
  /** Receives failures of the server itself. */
  logger: objectWith<Logger>()
    .transform((logger) => guardLogger(logger))
    .optional(),
} as const;

const Shared = z.strictObject({ ...agentOptions, answersGates: z.boolean() });
/** The options that the parts of both faces read. */
export type SharedOptions = z.output<typeof Shared>;

/**
 * Reads the options of a face. @throws KernelErrorException T0_VALIDATION_SCHEMA_MISMATCH if `kernel` is no kernel, or
 * an option is invalid.
 */
export function readAgentOptions<S extends z.ZodType>(
  schema: S,
  what: string,
  { kernel, given }: { readonly kernel: unknown; readonly given: unknown },
): z.output<S> {
  const reading = { what, source: moduleRef(0, "protocols", what) };
  requireKernel(kernel, reading);
  return readStrictly(schema, given, reading);
}
