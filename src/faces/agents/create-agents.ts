/**
 * createAgents: the packages that judge and run the tool calls of agents, and the agents that are opened on a kernel
 * that has them.
 *
 * Owns: the options, and the functions that run now. Never: decides about a call; the kernel's policies and people do.
 */
import { z } from "zod";
import { Caller } from "../../contract/auth-context.ts";
import { hostFunction, objectWith, requireKernel } from "../../contract/host-object.ts";
import { raise } from "../../contract/kernel-error.ts";
import { readStrictly } from "../../contract/known-keys.ts";
import { moduleRef } from "../../contract/module-ref.ts";
import { type CapabilityDefinition, type Clock, type Kernel, wallClock } from "../../index.ts";
import { ConsoleUrl } from "../../protocol/console-link.ts";
import type { AgentThread } from "./agent-call.ts";
import { KernelThread } from "./agent-thread.ts";
import { type AgentPackageOptions, type AgentPayload, agentPackages, callIntent } from "./call-package.ts";
import { agentError } from "./call-words.ts";
import { LiveTools } from "./live-tools.ts";

/** The options of the agents of one kernel. */
export const AgentsOptions = z.strictObject({
  /** The address of the console, where people decide; answers that wait then name the page of their gate. */
  consoleUrl: ConsoleUrl.optional(),
  /** The time that a call waits for a person before it is told as waiting, in ms; 0 by default. */
  waitMs: z.int().min(0).max(86_400_000).default(0),
  /** The time that a tool may take, in seconds; 600 by default. */
  timeoutSec: z.number().positive().max(86_400).default(600),
  /** Estimates the tokens and the money of a call, which budgets count: a pure function of the payload. */
  estimate: hostFunction<(call: AgentPayload) => { readonly tokens?: number; readonly money?: number }>().optional(),
  /** The clock of `waitMs`; the machine's by default. */
  clock: objectWith<Clock>("now", "setTimer").default(() => wallClock),
});
export interface AgentsOptions extends Readonly<z.input<typeof AgentsOptions>> {}

/** The options of one agent. */
export const AgentOptions = z.strictObject({
  /** The name of the agent, which rules and people read. */
  agent: z.string().min(1).max(64),
  /** The principal on whose behalf the agent calls tools. */
  caller: Caller,
  /** The names of tools that only read; all others are final writes. */
  reads: z.array(z.string().min(1)).readonly().default([]),
});
export interface AgentOptions extends Readonly<z.input<typeof AgentOptions>> {}

/** An agent whose tool calls a kernel judges. */
export interface Agent {
  /** Its name. */
  readonly name: string;
  /** Returns one of its conversations by its id, under which calls are found again. */
  readonly thread: (id: string) => AgentThread;
}

/** The agents of one kernel. */
export interface Agents {
  /** The packages to register with the kernel, in each process that decides gates of agents or runs them. */
  readonly capabilities: readonly CapabilityDefinition[];
  /**
   * Opens an agent on a kernel.
   * @throws KernelErrorException T0_AGENT_PACKAGE_MISSING, T0_VALIDATION_SCHEMA_MISMATCH.
   */
  readonly open: (kernel: Kernel, options: AgentOptions) => Agent;
}

const source = moduleRef(0, "agents", "create_agents");
const ThreadId = z.string().min(1).max(256);

/** Creates the packages and the agents of one kernel. @throws KernelErrorException T0_VALIDATION_SCHEMA_MISMATCH. */
export function createAgents(given: AgentsOptions = {}): Agents {
  const read = readStrictly(AgentsOptions, given, { what: "createAgents", source });
  const { estimate, timeoutSec, consoleUrl, waitMs, clock } = read;
  const live = new LiveTools();
  const capabilities = agentPackages({
    run: live.run,
    timeoutSec,
    estimate: estimate as AgentPackageOptions["estimate"],
  });
  return Object.freeze({
    capabilities,
    open(kernel: Kernel, asked: AgentOptions): Agent {
      const reading = { what: "agents.open", source };
      requireKernel(kernel, reading);
      const { agent, caller, reads } = readStrictly(AgentOptions, asked, reading);
      requirePackages(kernel, capabilities);
      const parts = { consoleUrl, waitMs, clock, kernel, caller: caller as Caller, agent, live, reads: new Set(reads) };
      return Object.freeze({
        name: agent,
        thread: (id: string) =>
          new KernelThread({ ...parts, thread: readStrictly(ThreadId, id, { what: "agent.thread: id", source }) }),
      });
    },
  });
}

/** Refuses a kernel without these packages: the functions of the tools would never be found. */
function requirePackages(kernel: Kernel, capabilities: readonly CapabilityDefinition[]): void {
  const registered = kernel.capabilities();
  if (capabilities.every((one) => registered.includes(one))) return;
  raise(agentError("T0_AGENT_PACKAGE_MISSING", `the kernel has no package ${callIntent} of these agents`));
}
