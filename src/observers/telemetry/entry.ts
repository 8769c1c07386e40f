/**
 * The entry `countersign/telemetry` as Node imports it: the exports of `index.ts`, or an error that names the packages
 * to install. The entry of `countersign/http` explains it.
 */
import { loadPeers } from "../../protocol/load-peers.ts";

const packages = [
  "@opentelemetry/api@1",
  "@opentelemetry/sdk-metrics@3",
  "@opentelemetry/exporter-prometheus@0.301",
  "pino@10",
];

export const { createLogger, createObserver, defaultObserverLimits, instruments, logLevels, traceIdOf, workflowIds } =
  await loadPeers({ user: "countersign/telemetry", packages }, () => import("./index.ts"));
