/**
 * The catalogue: every operation of a kernel, once. The type check holds it to the interface.
 */
import { z } from "zod";
import { Caller } from "../contract/auth-context.ts";
import { type CapabilityDefinition, CapabilityPackage } from "../contract/capability.ts";
import { Follow } from "../contract/follow.ts";
import type { CapabilityClient } from "../kernel/capability-client.ts";
import type { Kernel } from "../kernel/kernel-interface.ts";
import { kernelCommands, submit, workflowCommands } from "./commands.ts";
import { lists } from "./lists.ts";
import { type Declared, immediate, lasting, promised } from "./operation.ts";
import { channels, reads, searches, tokens, views } from "./reads.ts";
import { scheduleList, scheduleRead } from "./schedules.ts";

const caller = Caller.optional();
const named = { workflowId: z.string() };
/** A value that the method reads with a schema of its own. */
const own = z.unknown();
const settled = { ...named, options: Follow.pick({ signal: true }).optional() };
const ofWorkflow = promised({ ...named, caller });
const { shape: ofPackage } = CapabilityPackage.pick({ intentType: true, version: true, outcomes: true });

/** The operations of a kernel by the names of its methods. */
export const operations: Declared<Kernel> = {
  submit,
  ...kernelCommands,
  ...workflowCommands,
  ...views,
  ...lists,
  ...channels,
  ...searches,
  ...reads,
  authorize: promised({ caller: Caller, scope: z.string() }),
  execute: promised(named),
  settled: lasting(settled),
  stop: lasting({ options: z.strictObject({ drainMs: z.number().nonnegative().optional() }).optional() }),
  attachReport: promised({ ...named, report: own, caller }),
  deliveries: promised({}),
  redeliver: promised({ notifier: z.string() }),
  answerWait: promised({ answer: own }),
  ready: promised({}),
  lag: promised({}),
  holds: promised({}),
  ask: promised({ tier: own, signal: own }),
  of: immediate({ capability: z.looseObject(ofPackage) }),
  findOperator: immediate({ name: z.string(), version: z.string().optional() }),
  getCapability: immediate({ intentType: z.string(), version: z.string().optional() }),
  registerCapability: immediate({ capability: own }),
  registerOperator: immediate({ operator: own }),
  capabilities: immediate({}),
  machines: immediate({}),
  schedules: scheduleList,
  schedule: scheduleRead,
  vitals: immediate({}),
  lifecycles: immediate(named),
};

type Part = "documents" | "memory" | "tokens";

/** The operations of the parts that a kernel keeps under a name. */
export const partOperations: { readonly [P in Part]: Declared<Kernel[P]> } = {
  documents: { record: promised({ record: own }) },
  memory: {
    write: promised({ record: own }),
    sync: promised({ request: own, caller }),
    changes: promised({ query: own, caller }),
  },
  tokens,
};

/** The operations of a kernel for one package (`kernel.of`). A stopped kernel refuses them itself. */
export const clientOperations: Declared<CapabilityClient<CapabilityDefinition>> = {
  submit,
  workflow: ofWorkflow,
  settled: promised(settled),
  execute: promised(named),
  outcomes: ofWorkflow,
  gates: ofWorkflow,
  decideGate: workflowCommands.decideGate,
};
