/**
 * The entry `countersign/inspect`: workflows as Stately's inspector and the console see them, live, afterwards, or from
 * an export.
 * @module
 */

export { type ActorSnapshot, Inspection } from "../../contract/inspection.ts";
export type { RecordedMessage, RecordedRun, Recording, RecordingCut } from "../../contract/recording.ts";
export { chartOfFlow, type FlowChart } from "./flow-chart.ts";
export { type Flow, type FlowStep, flowOfPlan, flowOfRun } from "./flow-steps.ts";
export { type InspectOptions, type Inspector, inspectKernel } from "./inspect-kernel.ts";
export type { FlowState, FlowTransition } from "./lifecycle-states.ts";
export type { Pace } from "./pace.ts";
export { type PlayOptions, playEvents } from "./play-events.ts";
export { type FlowEvent, type PlayedEvent, playFlow } from "./play-flow.ts";
export type { Kind } from "./player.ts";
export { type PlayerPage, playerPage } from "./player-page.ts";
export { type RecordOptions, recordRuns } from "./record-runs.ts";
export { type Redact, redactEvent, showPayload } from "./redact.ts";
export { type InspectorServer, type ServeInspectorOptions, serveInspector } from "./serve-inspector.ts";
