/**
 * The bench's workload, as a host would write it: five sequential trivial steps, and the same with a gate and a sixth
 * step. Every result is checked; a wrong one throws.
 */
import { z } from "zod";
import { createKernel, defineCapability, defineOperator, type Kernel, type KernelOptions } from "../../src/index.ts";
import { sqliteLedger } from "../../src/ledger/sqlite/index.ts";
import type { LedgerStore } from "../../src/ports/ledger-store.ts";

const caller = { tenant_id: 1, principal: { type: "human", id: 1, role: "user" } } as const;

const step = defineOperator({
  name: "Bench.Step",
  input: z.object({ i: z.number(), id: z.string(), sum: z.number() }),
  output: z.object({ step: z.number(), id: z.string(), ok: z.boolean(), text: z.string(), sum: z.number() }),
  run: ({ input: { i, id, sum } }) => ({ step: i, id, ok: true, text: `result of step ${i}`, sum: sum + i }),
});

const steps = (count: number, id: string) =>
  Array.from({ length: count }, (_, k) => ({
    step_id: `s${k + 1}`,
    name: `Step ${k + 1}`,
    operator: "Bench.Step",
    params: { i: k + 1, id, sum: k === 0 ? 0 : `{{s${k}.output.sum}}` },
    depends_on: k === 0 ? [] : [`s${k}`],
    ...(k === 5 ? { gate: { reason: "the sixth step waits for a person" } } : {}),
  }));

const capability = (intentType: string, count: number) =>
  defineCapability({
    intentType,
    version: "1.0",
    input: z.object({ id: z.string() }),
    operators: [step],
    plan: ({ input }) => ({ reasoning: "bench", steps: steps(count, input.id) }),
  });

export interface Workload {
  readonly kernel: Kernel;
  /** Runs five steps; gives what the bench's checks look at. */
  readonly plain: (id: string) => Promise<{ readonly id: string; readonly sum: number }>;
  /** Runs five steps and parks; gives the workflow's id. */
  readonly gateStart: (id: string) => Promise<string>;
  readonly gateApprove: (
    workflowId: string,
  ) => Promise<{ readonly id: string; readonly sum: number; readonly by: string }>;
}

/** Over a store, or over the file of a SQLite ledger. */
export async function openWorkload(ledger: string | LedgerStore, options: KernelOptions = {}): Promise<Workload> {
  const kernel = await createKernel({
    ledger: typeof ledger === "string" ? sqliteLedger({ path: ledger }) : ledger,
    capabilities: [capability("Bench.Plain.Run", 5), capability("Bench.Gate.Run", 6)],
    ...options,
  });
  const start = async (intent_type: string, id: string): Promise<string> =>
    (await kernel.submit({ ...caller, input: { mode: "data" }, intent_hint: { intent_type, inputs: { id } } }))
      .workflow_id;
  const finish = async (workflowId: string) => {
    const state = await kernel.settled(workflowId);
    const last = JSON.parse(state.response.text) as { id: string; sum: number };
    if (state.state !== "completed") throw new Error(`bench workflow ended as ${state.state}`);
    return { state, last };
  };
  return {
    kernel,
    async plain(id) {
      const { last } = await finish(await start("Bench.Plain.Run", id));
      return { id: last.id, sum: last.sum };
    },
    async gateStart(id) {
      const workflowId = await start("Bench.Gate.Run", id);
      const state = await kernel.settled(workflowId);
      if (state.state !== "waiting_for_user") throw new Error(`bench workflow rests as ${state.state}`);
      return workflowId;
    },
    async gateApprove(workflowId) {
      await kernel.decideGate(workflowId, { ...caller, gate_id: "gate-s6", decision: "approve" });
      const { state, last } = await finish(workflowId);
      const principal = state.gates[0]?.decision?.principal;
      return { id: last.id, sum: last.sum, by: `${principal?.type}:${principal?.id}` };
    },
  };
}
