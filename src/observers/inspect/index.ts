/**
 * The entry `countersign/inspect`: workflows as Stately's inspector and the console see them, live, afterwards, or from
 * an export.
 * @module
 */
export { type ActorSnapshot, Inspection } from "../../contract/inspection.ts";
export { type InspectOptions, type Inspector, inspectKernel } from "./inspect-kernel.ts";
export type { Pace } from "./pace.ts";
export { type PlayOptions, playEvents } from "./play-events.ts";
export type { Kind } from "./player.ts";
export { type Redact, redactEvent, showPayload } from "./redact.ts";
export { type InspectorServer, type ServeInspectorOptions, serveInspector } from "./serve-inspector.ts";
