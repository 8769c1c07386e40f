/** A log of JSON lines over pino, which contains only allowed values. */
import { type DestinationStream, type Logger as Pino, pino } from "pino";
import { z } from "zod";
import { objectWith } from "../../contract/host-object.ts";
import { readStrictly } from "../../contract/known-keys.ts";
import { moduleRef } from "../../contract/module-ref.ts";
import type { Logger } from "../../index.ts";
import { redact, scrubText } from "./redact.ts";

/** The levels, from most to fewest lines. */
export const logLevels = ["debug", "info", "warn", "error", "silent"] as const;
/** The least that is written. */
export type LogLevel = (typeof logLevels)[number];

export interface ChildLogger extends Logger {
  /** Returns a logger whose lines also contain these bindings. */
  readonly child: (bindings: object) => ChildLogger;
}

const Options = z.strictObject({
  /** The lowest level that is written; `info` by default. */
  level: z.enum(logLevels).default("info"),
  /** Gets each line with its end; the process's own stderr otherwise. */
  destination: objectWith<DestinationStream>("write").optional(),
  /** Further names, besides those of the kernel's own lines, whose values are plain: numbers, ids, codes. */
  allow: z.array(z.string()).readonly().default([]),
});
/** The options of a logger: its level, its destination and its allowed names. */
export interface LoggerOptions extends Readonly<z.input<typeof Options>> {}

/**
 * Creates a logger that writes JSON lines, in which objects show only known names.
 * @throws KernelErrorException T0_VALIDATION_SCHEMA_MISMATCH for an invalid option.
 */
export function createLogger(given: LoggerOptions = {}): ChildLogger {
  const source = moduleRef(0, "telemetry", "createLogger");
  const { level, destination, allow } = readStrictly(Options, given, { what: "createLogger", source });
  const options = { level, base: null, timestamp: pino.stdTimeFunctions.isoTime, messageKey: "message" };
  const levels = { formatters: { level: (label: string) => ({ level: label }) } };
  return wrapPino(pino({ ...options, ...levels }, destination ?? pino.destination(2)), new Set(allow));
}

function wrapPino(log: Pino, allow: ReadonlySet<string>): ChildLogger {
  const at =
    (level: keyof Logger) =>
    (detail: object, message = ""): void => {
      if (log.isLevelEnabled(level)) log[level](redact(detail, allow), scrubText(message));
    };
  return {
    debug: at("debug"),
    info: at("info"),
    warn: at("warn"),
    error: at("error"),
    child: (bindings) => wrapPino(log.child(redact(bindings, allow)), allow),
  };
}
