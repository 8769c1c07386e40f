/**
 * What is not the kernel's (seed 003 section 3, seed 002 section 1): everything that belongs to a domain, a vendor or a
 * model comes in through ports and registrations, and the kernel runs it by name.
 */
import { describe, expect, it } from "vitest";
import { z } from "zod";
import {
  type Classifier,
  defineCapability,
  defineOperator,
  type Planner,
  type PolicyQuestion,
  type Scorers,
} from "../../src/index.ts";
import type { LedgerStore } from "../../src/ports/ledger-store.ts";
import { createTestKernel, memoryLedger } from "../../src/testing/index.ts";
import { counted, intentType, oneStep, packageOf, planStep, ruleOf } from "./parts.ts";

describe("ports", () => {
  it("[NOT-01] typing, scoring, matching, planning and retrieval are whatever the host puts there", async () => {
    const asked: string[] = [];
    /** Says that a port was asked, and gives its answer. */
    const say = <T>(what: string, answer: T): T => {
      asked.push(what);
      return answer;
    };
    const classifier: Classifier = {
      classify: () => say("classifier", { intent_type: intentType, domain: "notes", confidence: 1 }),
    };
    const scorers: Scorers = {
      urgency: () => say("urgency", "low"),
      complexity: () => say("complexity", "complex"),
      confidence: () => say("confidence", 1),
      grounding: () => say("grounding", 1),
    };
    const found = [{ ref: "r1", text: "wet", score: 1 }];
    const write = counted("Notes.Write", { capabilities: ["reasoning"] }, async ({ context }) => ({
      found: await context.retrieval?.retrieve("rain", 1),
    }));
    const planner: Planner = {
      plan: () => say("planner", { plan: { reasoning: "", steps: [planStep("s1", write)] }, usage: { total_cost: 0 } }),
    };
    await using t = await createTestKernel({
      capabilities: [packageOf([write], [])],
      classifier,
      scorers,
      planner,
      matchMemory: () => say("matcher", []),
      retrieval: { retrieve: async () => say("retrieval", found) },
    });
    const state = await t.run(intentType, {}, { thread_id: "t", intent_hint: null, input: { text: "rain?" } });
    expect(state.outcomes).toEqual([]);
    expect(JSON.parse(state.response.text)).toEqual({ found });
    const ports = ["classifier", "urgency", "complexity", "confidence", "grounding", "matcher", "planner", "retrieval"];
    expect(new Set(asked)).toEqual(new Set(ports));
  });

  it("[NOT-03] which system is behind a name is a matter of registration alone", async () => {
    const answers: string[] = [];
    for (const system of ["alpha", "beta"]) {
      const store = counted("Archive.Put", {}, () => `kept by ${system}`);
      await using t = await createTestKernel({ operators: [store.operator], capabilities: [byName("Archive.Put")] });
      answers.push((await t.run(intentType)).response.text);
    }
    expect(answers).toEqual(["kept by alpha", "kept by beta"]);
  });

  const byName = (operator: string) =>
    defineCapability({
      intentType,
      version: "1.0",
      input: z.object({}),
      operators: [operator],
      plan: { reasoning: "", steps: [{ step_id: "s1", name: "Put", operator }] },
    });
});

describe("storage", () => {
  it("[NOT-04] the store's collections are the generic ones", () => {
    const generic: readonly (keyof LedgerStore)[] = [
      ...(["name", "open", "close"] as const),
      ...(["append", "read", "last", "tail", "position", "dataVersion", "version"] as const),
      ...(["head", "heads", "heartbeat", "claim", "takeUp", "release", "held", "nextDue"] as const),
      ...(["listHeads", "countHeads", "listGates", "countGates", "listSeats", "countHolds", "halts"] as const),
      ...(["decisions", "countDecisions"] as const),
      ...(["grant", "grants", "grantsFor", "grantingTenants"] as const),
      ...(["standIn", "standIns", "standInsFor", "standInTenants"] as const),
      ...(["gates", "findKey", "charges", "chargesOf", "memory", "documents"] as const),
      ...(["waits", "overdueWaits", "events", "findEvent"] as const),
      ...(["schedules", "dueSchedules", "nextScheduleDue", "scheduleEntries"] as const),
      ...(["queuePlace", "nextAdmission", "queueLimits", "queueMembers", "queueLines", "countQueued"] as const),
    ];
    expect(Object.keys(memoryLedger()).sort()).toEqual([...generic].sort());
  });

  it("[NOT-04] a record of the domain changes only through its apply operator, after an approval", async () => {
    const records = new Map([["shelf", "empty"]]);
    const write = counted("Shelf.Propose", { effect: "write_draft" }, () => ({ text: "full" }));
    const apply = counted("Shelf.Apply", { effect: "final_write" }, ({ input }) => {
      records.set("shelf", String(input["text"]));
      return "applied";
    });
    const steps = [
      planStep("s1", write, { outcome: "Shelf" }),
      planStep("s2", apply, { applies: "s1", params: { text: "{{s1.output.text}}" } }),
    ];
    await using t = await createTestKernel({ capabilities: [packageOf([write, apply], steps)] });
    const { workflow_id, outcomes } = await t.run(intentType);
    expect(outcomes.map((o) => o.content)).toEqual([{ text: "full" }]);
    expect(records.get("shelf")).toBe("empty");
    await t.approve(workflow_id);
    await t.rest(workflow_id);
    expect(records.get("shelf")).toBe("full");
  });
});

describe("a domain of its own", () => {
  it("[NOT-05, NOT-02] is a package, an operator and a rule in a kernel that knows none of its words", async () => {
    const asked: PolicyQuestion[] = [];
    const rule = ruleOf(["action"], (question) => {
      asked.push(question);
      return question.intent.inputs["style"] === "loud"
        ? { decision: "DENY", reason: "no shouting in the orchard" }
        : { decision: "ALLOW", reason: "fine" };
    });
    await using t = await createTestKernel({ policies: [rule] });
    const prune = defineOperator({
      name: "Orchard.Prune",
      policyTags: ["orchard"],
      input: z.object({ tree: z.string(), style: z.enum(["soft", "loud"]) }),
      output: z.object({ pruned: z.string() }),
      run: ({ input }) => ({ pruned: input.tree }),
    });
    t.kernel.registerOperator(prune);
    t.kernel.registerCapability(
      defineCapability({
        intentType: "Orchard.Tree.Prune",
        version: "1.0",
        input: z.object({ tree: z.string(), style: z.enum(["soft", "loud"]) }),
        operators: ["Orchard.Prune"],
        outcomes: { Pruning: z.object({ pruned: z.string() }) },
        plan: ({ input }) => ({
          reasoning: "one cut",
          steps: [{ step_id: "cut", name: "Cut", operator: "Orchard.Prune", params: input, outcome: "Pruning" }],
        }),
      }),
    );
    const soft = await t.run("Orchard.Tree.Prune", { tree: "plum", style: "soft" });
    expect(soft).toMatchObject({
      state: "completed",
      outcomes: [{ outcome_type: "Pruning", content: { pruned: "plum" } }],
    });
    const loud = await t.run("Orchard.Tree.Prune", { tree: "plum", style: "loud" });
    expect(loud).toMatchObject({ status: "blocked", error: { message: "no shouting in the orchard" } });
    expect(asked.map((q) => q.subject.tags)).toEqual([["orchard"], ["orchard"]]);
  });

  it("[NOT-05] a new version of a style or a source is a new registration beside the old one", async () => {
    const [soft, loud] = [counted("Style.Soft"), counted("Style.Loud")];
    await using t = await createTestKernel({ capabilities: [oneStep(soft)] });
    t.kernel.registerCapability(oneStep(loud, {}, { version: "2.0" }));
    await t.run(intentType);
    await t.run(`${intentType}@1.0`);
    expect([soft.calls.length, loud.calls.length]).toEqual([1, 1]);
  });
});
