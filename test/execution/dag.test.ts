// The exported DAG executor, alone: fakes for its four inputs, no kernel. Random graphs say the rules, examples the
// seed's own cases; completions come in an order that fast-check chooses.

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type DAGResult, DagExecutor, type StepResult } from "../../src/index.ts";
import { letRun } from "../../src/testing/let-run.ts";
import { runs } from "../properties/property-runs.ts";

interface Node {
  readonly step_id: string;
  readonly depends_on: readonly string[];
}

type Fate = "completes" | "fails" | "blocks" | "throws" | "rejects";

interface Graph {
  readonly nodes: readonly Node[];
  readonly fates: ReadonlyMap<string, Fate>;
  /** max_concurrent; absent: the executor's own. */
  readonly limit?: number;
}

const node = (step_id: string, ...depends_on: string[]): Node => ({ step_id, depends_on });
const done = (step: Node): StepResult => ({ data: step.step_id, output_text: step.step_id, status: "COMPLETED" });

/** Runs the graph on fakes and lets nothing complete but what `settle` chooses. */
class Trial {
  readonly started: string[] = [];
  readonly finished = new Set<string>();
  readonly startedBeforeDependencies: string[] = [];
  readonly asked: string[] = [];
  running = 0;
  peak = 0;

  readonly graph: Graph;
  readonly settle: (result: Promise<StepResult>) => Promise<StepResult>;

  constructor(graph: Graph, settle: (result: Promise<StepResult>) => Promise<StepResult> = (result) => result) {
    this.graph = graph;
    this.settle = settle;
  }

  run(): Promise<DAGResult> {
    const { nodes, limit } = this.graph;
    return new DagExecutor<Node>({
      steps: nodes,
      executeFn: (step) => this.#execute(step),
      budgetCheckFn: (step) => this.asked.push(step.step_id) > 0,
      ...(limit === undefined ? {} : { maxConcurrent: limit }),
    }).run();
  }

  #execute(step: Node): Promise<StepResult> {
    this.started.push(step.step_id);
    if (step.depends_on.some((id) => !this.finished.has(id))) this.startedBeforeDependencies.push(step.step_id);
    const fate = this.graph.fates.get(step.step_id) ?? "completes";
    if (fate === "throws") throw new Error(`${step.step_id} threw`);
    this.running += 1;
    this.peak = Math.max(this.peak, this.running);
    return this.settle(Promise.resolve(done(step))).then((result) => {
      this.running -= 1;
      if (fate === "rejects") throw new Error(`${step.step_id} rejected`);
      if (fate === "completes") this.finished.add(step.step_id);
      return { ...result, status: fate === "fails" ? "FAILED" : fate === "blocks" ? "BLOCKED" : "COMPLETED" };
    });
  }
}

const fate = fc.oneof(
  { weight: 6, arbitrary: fc.constant<Fate>("completes") },
  fc.constantFrom<Fate>("fails", "blocks", "throws", "rejects"),
);

/** Up to 12 nodes; an edge always points to an earlier one, and the list itself is shuffled. */
const graph: fc.Arbitrary<Graph> = fc
  .integer({ min: 1, max: 12 })
  .chain((size) =>
    fc.record({
      edges: fc.array(fc.array(fc.boolean(), { minLength: size, maxLength: size }), {
        minLength: size,
        maxLength: size,
      }),
      fates: fc.array(fate, { minLength: size, maxLength: size }),
      order: fc.shuffledSubarray([...Array(size).keys()], { minLength: size, maxLength: size }),
      limit: fc.integer({ min: 1, max: 6 }),
    }),
  )
  .map(({ edges, fates, order, limit }) => ({
    nodes: order.map((i) => node(`n${i}`, ...order.filter((j) => j < i && edges[i]?.[j]).map((j) => `n${j}`))),
    fates: new Map(fates.map((f, i) => [`n${i}`, f])),
    limit,
  }));

/** What must come of each node, by the rules alone. */
function expected({ nodes, fates }: Graph): Record<"completed" | "failed" | "cancelled", string[]> {
  const byId = new Map(nodes.map((n) => [n.step_id, n]));
  const dead = (id: string): boolean => fates.get(id) !== "completes" || isCut(id);
  const isCut = (id: string): boolean => byId.get(id)?.depends_on.some(dead) ?? false;
  const ids = nodes.map((n) => n.step_id);
  return {
    completed: ids.filter((id) => !dead(id)),
    failed: ids.filter((id) => !isCut(id) && fates.get(id) !== "completes"),
    cancelled: ids.filter(isCut),
  };
}

const overGraphs = (law: (trial: Trial, result: DAGResult) => void): Promise<void> =>
  fc.assert(
    fc.asyncProperty(graph, fc.scheduler(), async (drawn, scheduler) => {
      const trial = new Trial(drawn, (result) => scheduler.schedule(result));
      law(trial, await scheduler.waitFor(trial.run()));
    }),
    { numRuns: runs(200) },
  );

const failingChain: Graph = {
  nodes: [node("a"), node("b", "a"), node("c", "b"), node("d")],
  fates: new Map([["a", "fails"]]),
  limit: 5,
};

describe("the DAG executor, over random graphs", () => {
  it("[DAG-02] a step starts only after all its dependencies completed, and at most once", () =>
    overGraphs((trial) => {
      expect(trial.startedBeforeDependencies).toEqual([]);
      expect(new Set(trial.started).size).toBe(trial.started.length);
    }));

  it("[DAG-03] never more than max_concurrent run at once", () =>
    overGraphs((trial) => expect(trial.peak).toBeLessThanOrEqual(trial.graph.limit ?? 5)));

  it("[DAG-04] each started step has its result, whatever came of it, and nothing is rethrown", () =>
    overGraphs((trial, { results }) => {
      expect(Object.keys(results).sort()).toEqual([...trial.started].sort());
      for (const [id, result] of Object.entries(results))
        expect(result.status).toBe(
          { completes: "COMPLETED", blocks: "BLOCKED", fails: "FAILED", throws: "FAILED", rejects: "FAILED" }[
            trial.graph.fates.get(id) as Fate
          ],
        );
    }));

  it("[DAG-05] all dependents of a failed step are cancelled unstarted, and every other branch runs to its end", () =>
    overGraphs((trial, { completed, failed, cancelled }) => {
      expect({ completed, failed, cancelled }).toEqual(expected(trial.graph));
      expect(trial.started.filter((id) => cancelled.includes(id))).toEqual([]);
    }));

  it("[DAG-06] every step is in exactly one list, and success means that all completed", () =>
    overGraphs((trial, { success, completed, failed, cancelled, summary }) => {
      expect([...completed, ...failed, ...cancelled].sort()).toEqual(trial.graph.nodes.map((n) => n.step_id).sort());
      expect(success).toBe(failed.length + cancelled.length === 0);
      expect(summary).not.toBe("");
    }));

  it("[DAG-07] the budget is asked before each start, once", () =>
    overGraphs((trial) => expect(trial.asked).toEqual(trial.started)));
});

describe("the DAG executor, by example", () => {
  it("[DAG-01] runs on fakes for its four inputs alone", async () => {
    const trial = new Trial({ nodes: [node("a"), node("b", "a")], fates: new Map(), limit: 1 });
    expect(await trial.run()).toMatchObject({ success: true, completed: ["a", "b"] });
    expect(trial.asked).toEqual(["a", "b"]);
  });

  it.each([
    [undefined, 5],
    [2, 2],
  ])("[DAG-03] twelve independent steps under max_concurrent %s peak at %i", async (limit, peak) => {
    const release: (() => void)[] = [];
    const graph: Graph = {
      nodes: Array.from({ length: 12 }, (_, i) => node(`n${i}`)),
      fates: new Map(),
      ...(limit === undefined ? {} : { limit }),
    };
    const blocking = (result: Promise<StepResult>): Promise<StepResult> =>
      new Promise<void>((resolve) => release.push(resolve)).then(() => result);
    const trial = new Trial(graph, blocking);
    const end = trial.run();
    for (let ended = 0; ended < 12; ended += 1) {
      await letRun();
      expect(trial.running).toBe(Math.min(peak, 12 - ended));
      release.shift()?.();
    }
    expect(await end).toMatchObject({ success: true });
    expect(trial.peak).toBe(peak);
  });

  it("[DAG-04] one success and one throw: both results are there, the second FAILED with its message", async () => {
    const trial = new Trial({ nodes: [node("a"), node("b")], fates: new Map([["b", "throws"]]), limit: 5 });
    const { results } = await trial.run();
    expect(results["a"]?.status).toBe("COMPLETED");
    expect(results["b"]).toEqual({ data: null, output_text: "b threw", status: "FAILED" });
  });

  it("[DAG-05] [DAG-06] a failing, b and c behind it, d apart", async () => {
    const result = await new Trial(failingChain).run();
    expect(result).toMatchObject({ success: false, failed: ["a"], cancelled: ["b", "c"], completed: ["d"] });
    expect(Object.keys(result.results).sort()).toEqual(["a", "d"]);
    expect(result.summary).not.toBe("");
  });

  it("[DAG-06] steps that can never start are cancelled, not forgotten", async () => {
    const nodes = [node("a"), node("b", "c"), node("c", "b"), node("d", "nowhere")];
    const result = await new Trial({ nodes, fates: new Map(), limit: 5 }).run();
    expect(result).toMatchObject({ success: false, completed: ["a"], failed: [], cancelled: ["b", "c", "d"] });
  });

  it("[DAG-05] each cancelled step names the step that caused it, whatever the order of the list", async () => {
    const because: string[] = [];
    const nodes = [
      node("d", "c"),
      node("c", "b"),
      node("b", "a"),
      node("a"),
      node("y", "a_ok", "nowhere"),
      node("a_ok"),
    ];
    const result = await new DagExecutor<Node>({
      steps: nodes,
      executeFn: (step) => (step.step_id === "a" ? { ...done(step), status: "FAILED" } : done(step)),
      onCancel: (step, of) => because.push(`${step.step_id} ${of}`),
    }).run();
    expect(result).toMatchObject({ failed: ["a"], completed: ["a_ok"] });
    expect(because).toEqual(["b a", "c b", "d c", "y nowhere"]);
  });

  it.each(["synchronously", "later"])(
    "[DAG-07] a refusal, %s, starts nothing more and cancels the rest",
    async (when) => {
      const started: string[] = [];
      let asked = 0;
      const result = await new DagExecutor<Node>({
        steps: Array.from({ length: 6 }, (_, i) => node(`n${i}`)),
        executeFn: async (step) => {
          started.push(step.step_id);
          return done(step);
        },
        budgetCheckFn: () => {
          asked += 1;
          return when === "later" ? Promise.resolve(asked < 3) : asked < 3;
        },
      }).run();
      expect(started).toEqual(["n0", "n1"]);
      expect(asked).toBeGreaterThanOrEqual(3);
      expect(result).toMatchObject({ success: false, completed: ["n0", "n1"], cancelled: ["n2", "n3", "n4", "n5"] });
    },
  );

  it.each(["throws", "rejects"])("[DAG-07] a budget check that %s refuses", async (how) => {
    const result = await new DagExecutor<Node>({
      steps: [node("a"), node("b", "a")],
      executeFn: done,
      budgetCheckFn: ({ step_id }) => {
        if (step_id === "a") return true;
        if (how === "rejects") return Promise.reject(new Error("no account"));
        throw new Error("no account");
      },
    }).run();
    expect(result).toMatchObject({ success: false, completed: ["a"], cancelled: ["b"] });
  });

  it("[DAG-03] a max_concurrent below one still lets one step run at a time", async () => {
    const trial = new Trial({ nodes: [node("a"), node("b")], fates: new Map(), limit: 0 });
    expect(await trial.run()).toMatchObject({ success: true });
    expect(trial.peak).toBe(1);
  });
});

describe("results", () => {
  it("are kept of a step of any name", async () => {
    const names = ["__proto__", "constructor"];
    const { success, results } = await new Trial({ nodes: names.map((id) => node(id)), fates: new Map() }).run();
    expect([success, Object.keys(results)]).toEqual([true, names]);
  });
});
