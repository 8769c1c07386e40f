/** Telemetry and logging that say nothing, and the guards that keep a host's own from doing harm. */
import { callAside } from "../contract/maybe-promise.ts";
import type { Logger, Telemetry } from "../ports/telemetry.ts";

const nothing = (): void => undefined;
export const quietTelemetry: Telemetry = Object.freeze({});
export const quietLogger: Logger = Object.freeze({ debug: nothing, info: nothing, warn: nothing, error: nothing });

/** What throws is ignored, and so is what comes to nothing later: a host's function may well be async. */
const ignoreFailure = (work: () => unknown): void => callAside(work, nothing);

/** The same logger, which does no harm: one that throws, at once or later, is ignored. */
export function guardLogger(logger: Logger): Logger {
  const guard =
    (level: keyof Logger) =>
    (detail: object, message?: string): void =>
      ignoreFailure(() => logger[level](detail, message));
  return { debug: guard("debug"), info: guard("info"), warn: guard("warn"), error: guard("error") };
}

export function guardTelemetry(telemetry: Telemetry): Telemetry {
  return {
    ...(telemetry.mark === undefined
      ? {}
      : { mark: (stage, detail) => ignoreFailure(() => telemetry.mark?.(stage, detail)) }),
    ...(telemetry.committed === undefined
      ? {}
      : { committed: (commit) => ignoreFailure(() => telemetry.committed?.(commit)) }),
  };
}
