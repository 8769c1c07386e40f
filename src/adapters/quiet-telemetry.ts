/** Telemetry and logging that do nothing, and guards that keep a host's own from affecting the kernel. */
import { callAside } from "../contract/maybe-promise.ts";
import type { Logger, Telemetry } from "../ports/telemetry.ts";

const nothing = (): void => undefined;
export const quietTelemetry: Telemetry = Object.freeze({});
export const quietLogger: Logger = Object.freeze({ debug: nothing, info: nothing, warn: nothing, error: nothing });

/** Ignores errors of host code, at once or later, because a host's function may be async. */
const ignoreFailure = (work: () => unknown): void => callAside(work, nothing);

/** Guards a logger: an error of it, at once or later, is ignored. */
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
