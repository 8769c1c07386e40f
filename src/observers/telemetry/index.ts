/**
 * The entry `countersign/telemetry`: spans and metrics of a kernel, for whatever SDK the host has, and a log without
 * secrets. @module
 */
export { type ChildLogger, createLogger, type LoggerOptions, type LogLevel, logLevels } from "./create-logger.ts";
export {
  createObserver,
  defaultObserverLimits,
  type Observer,
  type ObserverLimits,
  type ObserverOptions,
} from "./create-observer.ts";
export { type InstrumentName, instruments } from "./instruments.ts";
export type { HttpRequestSeen } from "./log-request.ts";
export { traceIdOf, type WorkflowIds, workflowIds } from "./workflow-ids.ts";
