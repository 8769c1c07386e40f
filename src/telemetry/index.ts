/** The entry `countersign/telemetry`: spans and metrics of a kernel, for whatever SDK the host has, and a log without secrets. */
export {
  createObserver,
  defaultObserverLimits,
  type HttpRequestSeen,
  type Observer,
  type ObserverLimits,
  type ObserverOptions,
} from "./create-observer.ts";
export { type InstrumentName, instruments } from "./instruments.ts";
export { traceIdOf, type WorkflowIds, workflowIds } from "./workflow-ids.ts";
