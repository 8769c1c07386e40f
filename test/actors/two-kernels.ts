/**
 * A program for a process of its own: two kernels on the machine's clock, a workflow in each, both stopped, and a
 * report on stdout. It never calls process.exit.
 */
import { createKernel, type Kernel, KernelErrorException } from "../../src/index.ts";
import { gated, intentType } from "./fixture.ts";

const caller = { tenant_id: 1, principal: { type: "user", id: 1, role: "user" } } as const;

async function runOne(kernel: Kernel): Promise<{ readonly id: string; readonly state: string }> {
  const { workflow_id } = await kernel.submit({ ...caller, intent_hint: { intent_type: intentType } });
  await kernel.settled(workflow_id);
  await kernel.decideGate(workflow_id, { ...caller, decision: "approve" });
  return { id: workflow_id, state: (await kernel.settled(workflow_id)).state };
}

const has = (kernel: Kernel, id: string): Promise<string> =>
  kernel.workflow(id).then(
    () => "found",
    (thrown: unknown) => (thrown instanceof KernelErrorException ? thrown.error.code : "odd"),
  );

const kernels = [
  await createKernel({ capabilities: [gated()] }),
  await createKernel({ capabilities: [gated()] }),
] as const;
const ran = await Promise.all(kernels.map(runOne));
const [one, two] = ran.map(({ id }) => id) as [string, string];
const own = (await Promise.all([has(kernels[0], one), has(kernels[1], two)])).map((answer) => answer === "found");
const foreign = await Promise.all([has(kernels[0], two), has(kernels[1], one)]);
await Promise.all(kernels.map((kernel) => kernel.stop()));
const left = process.getActiveResourcesInfo();
process.stdout.write(JSON.stringify({ states: ran.map(({ state }) => state), own, foreign, left }));
