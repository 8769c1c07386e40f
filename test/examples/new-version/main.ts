/**
 * A release of the kind of work that children do, while they wait for people: the doctor says what it would strand, the
 * old version beside the new one lets them go on, and a migrated parent does nothing of theirs twice. `npm start`
 */
import { defineCapability, defineOperator } from "countersign";
import { createTestKernel, memoryLedger, type TestKernel } from "countersign/testing";
import { z } from "zod";

const sent: string[] = [];
const party = z.object({ party: z.string() });
const draft = defineOperator({
  name: "Contract.Draft",
  input: party,
  effect: "write_draft",
  idempotent: true,
  run({ input }) {
    sent.push(`drafted for ${input.party}`);
    return `the contract of ${input.party}`;
  },
});
const send = defineOperator({
  name: "Contract.Send",
  input: party,
  effect: "final_write",
  run: ({ input }) => void sent.push(`sent to ${input.party}`),
});

/** Version 2.0 asks for a person's decision in other words; what waits was asked in those of 1.0. */
const contract = (version: string) =>
  defineCapability({
    intentType: "Contract.One",
    version,
    input: party,
    operators: [draft, send],
    plan: ({ input, step }) => {
      const drafted = step({ step_id: "draft", name: "Draft it", operator: "Contract.Draft", params: input });
      const gate = { reason: version === "1.0" ? "it leaves the house" : "legal signs what leaves the house" };
      const last = { name: "Send it", operator: "Contract.Send", params: input, depends_on: [drafted], gate } as const;
      return { reasoning: "Draft, then send.", steps: [drafted, step({ step_id: "send", ...last })] };
    },
  });
const renewal = (child: ReturnType<typeof contract>) =>
  defineCapability({
    intentType: "Contract.Renewal",
    version: child.version,
    input: z.object({ parties: z.array(z.string()) }),
    operators: [],
    plan: ({ input, each, run }) => ({
      reasoning: "One contract for each party.",
      steps: [
        each({
          step_id: "all",
          name: "Renew all",
          items: input.parties,
          key: (name) => name,
          concurrency: 5,
          do: (name) => run({ capability: child, input: { party: name } }),
        }),
      ],
    }),
  });

const [one, two] = [contract("1.0"), contract("2.0")];
const old = [renewal(one), one];
const ann = { tenant_id: 1, principal: { type: "user", id: "ann", role: "user" } } as const;
const bo = { tenant_id: 1, principal: { type: "user", id: "bo", role: "admin" } } as const;
const ledger = memoryLedger();
const deploy = (...capabilities: (typeof old)[number][]) => createTestKernel({ ledger, capabilities });

async function approveBelow({ kernel, clock }: TestKernel, id: string): Promise<void> {
  for (const { workflow_id, payload_digest } of await kernel.gates({ under: id }, bo))
    await kernel.decideGate(workflow_id, { ...bo, decision: "approve", payload: { payload_digest } });
  await clock.settle();
}

/** Counts the obstacles that the doctor finds, each with the ways out. */
async function diagnose({ kernel }: TestKernel): Promise<ReadonlyMap<string, number>> {
  const found = new Map<string, number>();
  for await (const { obstacles, remedies } of kernel.doctor()) {
    const line = `${obstacles[0]?.reason}: ${[...new Set(remedies.map(({ kind }) => kind))].join(", ")}`;
    found.set(line, (found.get(line) ?? 0) + 1);
  }
  return found;
}

const ids: string[] = [];
{
  await using t = await deploy(...old);
  for (const parties of [
    ["Al", "Bea", "Cy"],
    ["Di", "Ed"],
  ])
    ids.push((await t.kernel.of(renewal(one)).submit({ ...ann, inputs: { parties } })).workflow_id);
  await t.clock.settle();
  console.log("waiting:", (await t.kernel.gates({}, bo)).length, "after", sent.length, "drafts");
}
const [first = "", second = ""] = ids;
{
  await using t = await deploy(renewal(two), two); // the new version alone
  for (const [line, n] of await diagnose(t)) console.log(n, line);
  const [gate] = await t.kernel.gates({ under: first }, bo);
  await t.kernel
    .decideGate(gate?.workflow_id ?? "", { ...bo, decision: "approve" })
    .catch(({ error }) => console.log("refused:", error.code));
}
await using t = await deploy(...old, renewal(two), two); // both
console.log("stranded:", (await diagnose(t)).size);
await approveBelow(t, first);
console.log("as they were:", (await t.kernel.workflow(first)).state);

const migrated = await t.kernel.retry(second, { ...ann, mode: "migrate", version: "2.0" });
await t.clock.settle();
const anew = await t.kernel.gates({ under: migrated.workflow_id }, bo);
const versions = anew.map(async ({ workflow_id }) => (await t.kernel.workflow(workflow_id)).intent.version);
console.log("asked anew, in version:", ...(await Promise.all(versions)));
await approveBelow(t, migrated.workflow_id);
console.log("migrated:", (await t.kernel.workflow(migrated.workflow_id)).state);
console.log(sent.toSorted().join("\n"));
