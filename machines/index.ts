/** The lifecycles, each openable in Stately and enumerable without a kernel; and the fold that they govern. @module */
export { type ActionEvent, actionMachine } from "./action.ts";
export { acceptsEvent, lifecycleCharts } from "./charts.ts";
export { allMachines, definitionOf, type MachineDefinition } from "./definitions.ts";
export { foldEvents, foldWorkflow } from "./fold.ts";
export { type GateEvent, gateMachine } from "./gate.ts";
export { type KernelEvent, kernelMachine } from "./kernel.ts";
export { type StepEvent, stepMachine } from "./step.ts";
export { type Chart, compileChart } from "./table.ts";
export { type TierEvent, tierMachine } from "./tier.ts";
export { type TokenMachineEvent, tokenMachine } from "./token.ts";
export { type WorkflowEvent, workflowMachine } from "./workflow.ts";
