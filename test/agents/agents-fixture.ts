/**
 * A kernel with the packages of agents, and rules by which a tool runs without a person.
 * Owns: the kernel, on a file if one is named, and a tool whose calls are counted. Never: asserts anything.
 */
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { type AgentOptions, type AgentsOptions, createAgents } from "../../src/faces/agents/create-agents.ts";
import { definePolicySet } from "../../src/index.ts";
import { sqliteLedger } from "../../src/ledger/sqlite/index.ts";
import { createTestKernel, createVirtualClock, type TestKernelOptions, testCaller } from "../../src/testing/index.ts";
import { makeTempFolder } from "../fixtures.ts";

export interface DeskOptions extends Omit<TestKernelOptions, "capabilities"> {
  /** The file of the ledger; in memory if it is absent. */
  readonly path?: string;
  readonly agents?: AgentsOptions;
  readonly agent?: Partial<AgentOptions>;
}

export const consoleUrl = "https://desk.example/";

/** Opens a kernel and an agent `support` on it. */
export async function openDesk({ path, agents: given = {}, agent = {}, ...options }: DeskOptions = {}) {
  const clock = createVirtualClock();
  const agents = createAgents({ consoleUrl, clock, ...given });
  const ledger = path === undefined ? {} : { ledger: sqliteLedger({ path }) };
  const t = await createTestKernel({ clock, ...ledger, ...options, capabilities: agents.capabilities });
  const support = agents.open(t.kernel, { agent: "support", caller: testCaller, ...agent });
  return {
    ...t,
    agents,
    support,
    /** The open gates. */
    gates: () => t.kernel.gates(),
    /** Approves or rejects the one open gate. */
    async decide(decision: "approve" | "reject", payload: object = {}) {
      const [gate, ...others] = await t.kernel.gates();
      if (gate === undefined || others.length > 0) throw new Error(`${others.length + 1} gates are open`);
      const full = await t.kernel.gate(gate.workflow_id, gate.gate_id);
      const digest = { payload_digest: full.payload_digest };
      const { gate_id } = full;
      await t.kernel.decideGate(gate.workflow_id, { ...boss, decision, gate_id, payload: { ...digest, ...payload } });
      return full;
    },
    async [Symbol.asyncDispose]() {
      await t[Symbol.asyncDispose]();
    },
  };
}

/** A person who decides. */
export const boss = { tenant_id: 1, principal: { type: "user", id: "ann", role: "user" } };

/** Decides the one open gate in a kernel of its own on the file, as another process does. */
export async function decideElsewhere(path: string, decision: "approve" | "reject", payload: object = {}) {
  await using desk = await openDesk({ path, seed: 99 });
  return await desk.decide(decision, payload);
}

/** Rules by which `tool` runs without a person. */
export const allowing = (tool: string) =>
  definePolicySet({
    version: "1",
    rules: [
      {
        name: "allowed",
        stages: ["action"],
        lifts: "default.final_write",
        when: { operators: ["Agent.Write"], values: [{ path: "tool", any: [tool] }] },
        decision: "ALLOW",
        reason: "the desk lets it",
      },
    ],
  });

/** Rules that deny `tool`. */
export const denying = (tool: string) =>
  definePolicySet({
    version: "1",
    rules: [
      {
        name: "denied",
        stages: ["action"],
        when: { operators: ["Agent.*"], values: [{ path: "tool", any: [tool] }] },
        decision: "DENY",
        reason: "refunds are closed in November",
      },
    ],
  });

/** Returns the path of a ledger in a folder of its own, which is removed after the test. */
export function ledgerPath(): string {
  const made = makeTempFolder();
  onTestFinished(() => made[Symbol.dispose]());
  return join(made.path, "agents.db");
}
