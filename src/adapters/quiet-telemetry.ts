/** Telemetry and logging that say nothing, and the guards that keep a host's own from doing harm. */
import type { Logger, Telemetry } from "../ports/telemetry.ts";

const nothing = (): void => undefined;
export const quietTelemetry: Telemetry = Object.freeze({ mark: nothing });
export const quietLogger: Logger = Object.freeze({ debug: nothing, info: nothing, warn: nothing, error: nothing });

/** A logger that throws is ignored. */
export function guardLogger(logger: Logger): Logger {
  const guard =
    (level: keyof Logger) =>
    (detail: object, message?: string): void => {
      try {
        logger[level](detail, message);
      } catch {
        return;
      }
    };
  return { debug: guard("debug"), info: guard("info"), warn: guard("warn"), error: guard("error") };
}

export function guardTelemetry(telemetry: Telemetry): Telemetry {
  if (telemetry === quietTelemetry) return telemetry;
  return {
    mark(stage, detail) {
      try {
        telemetry.mark(stage, detail);
      } catch {
        return;
      }
    },
    ...(telemetry.committed === undefined ? {} : { committed: guardCommitted(telemetry) }),
  };
}

const guardCommitted =
  (telemetry: Telemetry): Telemetry["committed"] =>
  (commit) => {
    try {
      telemetry.committed?.(commit);
    } catch {
      return;
    }
  };
