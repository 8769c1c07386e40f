/**
 * The async context (`AsyncLocalStorage`) in which a host's code runs: planners, rules, previews, operators, notifiers
 * and stores. Each notes what the host's storage holds when it is called.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { createHttpApp } from "../../src/faces/http/index.ts";
import { defineCapability, defineOperator, definePolicy, operatorError } from "../../src/index.ts";
import { sqliteLedger } from "../../src/ledger/sqlite/index.ts";
import type { LedgerStore } from "../../src/ports/ledger-store.ts";
import { createTestKernel, type TestKernelOptions } from "../../src/testing/test-kernel.ts";
import { freshPaths } from "../fixtures.ts";

const freshPath = freshPaths();
const storage = new AsyncLocalStorage<string>();
const intentType = "Context.Note";

interface Seen {
  readonly what: string;
  /** Of the workflow's input; null for what belongs to no workflow. */
  readonly who: string | null;
  readonly store: string | undefined;
}

/** A package of two steps whose every part notes its context; the second waits for a person where `asks`. */
function watched(more: { readonly asks?: boolean; readonly failures?: number } = {}) {
  const seen: Seen[] = [];
  const note = (what: string, who: string | null): void => void seen.push({ what, who, store: storage.getStore() });
  const Input = z.object({ who: z.string() });
  let failures = more.failures ?? 0;
  const first = defineOperator({
    name: "Context.First",
    effect: "none",
    input: Input,
    run: async ({ input }) => {
      note("operator", input.who);
      await Promise.resolve();
      note("operator, later", input.who);
      failures -= 1;
      if (failures >= 0) throw operatorError({ code: "NOT_YET", retryable: true, message: "not yet" });
      return input;
    },
  });
  const second = defineOperator({
    name: "Context.Second",
    effect: "final_write",
    input: Input,
    preview: ({ input }) => {
      note("preview", input.who);
      return { preview: "as it is" };
    },
    run: ({ input }) => {
      note("second operator", input.who);
      return input;
    },
  });
  const capability = defineCapability({
    intentType,
    version: "1.0",
    input: Input,
    operators: [first, second],
    plan: ({ input }) => {
      note("plan", input.who);
      const step = { params: { who: input.who } };
      const steps = [
        { step_id: "first", name: "first", operator: "Context.First", ...step },
        { step_id: "second", name: "second", operator: "Context.Second", depends_on: ["first"], ...step },
      ];
      return { reasoning: "two steps", steps };
    },
  });
  const rule = definePolicy({
    name: "rule",
    stages: ["action"],
    evaluate: ({ subject, intent }) => {
      note("rule", String(intent.inputs["who"]));
      return more.asks === true && (subject as { readonly operator?: string }).operator === "Context.Second"
        ? { decision: "REQUIRE_HUMAN_APPROVAL", reason: "a person looks" }
        : null;
    },
  });
  const deliver = async (): Promise<undefined> => void note("notifier", null);
  const notifier = { name: "notes", deliver };
  const options: TestKernelOptions = {
    capabilities: [capability],
    policies: [rule],
    defaultPolicies: false,
    notifiers: [notifier],
  };
  return { seen, note, options };
}

const of = (who: string, tenant_id = 1) => ({
  tenant_id,
  principal: { type: "user", id: who, role: "user" },
  intent_hint: { intent_type: intentType, inputs: { who } },
});
const people = ["ann", "bo", "cy"];
const strays = (seen: readonly Seen[]): readonly Seen[] =>
  seen.filter(({ who, store }) => who !== null && who !== store);
const whatOf = (seen: readonly Seen[]) => [...new Set(seen.map(({ what }) => what))].sort();

describe("a host's code", () => {
  it("of requests that come at once runs each in the context of its own submit, in every part", async () => {
    const { seen, options } = watched();
    await using t = await createTestKernel(options);
    const asked = people.map((who, i) => storage.run(who, () => t.kernel.submit(of(who, i + 1))));
    for (const { workflow_id } of await Promise.all(asked)) expect((await t.rest(workflow_id)).state).toBe("completed");
    expect(whatOf(seen)).toEqual(["operator", "operator, later", "plan", "rule", "second operator"]);
    expect(seen.length).toBeGreaterThanOrEqual(3 * 5);
    expect(strays(seen)).toEqual([]);
  });

  it("of requests that come at once through an app runs each in the context of its request", async () => {
    const { seen, options } = watched();
    await using t = await createTestKernel(options);
    const tokens = people.map((token, i) => ({
      token,
      tenant_id: i + 1,
      principal: { type: "user", id: token, role: "user" },
    }));
    const app = createHttpApp(t.kernel, { tokens, clock: t.clock });
    const ask = (who: string) =>
      app.fetch(
        new Request("http://edge.test/v1/kernel/submit", {
          method: "POST",
          headers: { authorization: `Bearer ${who}`, "content-type": "application/json" },
          body: JSON.stringify({ intent_hint: of(who).intent_hint }),
        }),
      );
    const answers = await Promise.all(people.map((who) => storage.run(who, () => ask(who))));
    for (const answer of answers) {
      const { workflow_id } = (await answer.json()) as { workflow_id: string };
      expect((await t.rest(workflow_id)).state).toBe("completed");
    }
    expect(strays(seen)).toEqual([]);
  });

  it("that is retried after a pause runs in the context of its submit, not of the timer's mover", async () => {
    const { seen, options } = watched({ failures: 1 });
    await using t = await createTestKernel(options);
    const [who] = people as [string];
    const { workflow_id } = await storage.run(who, () => t.kernel.submit(of(who)));
    const { state } = await storage.run("timer", () => t.rest(workflow_id));
    expect(state).toBe("completed");
    expect(seen.filter(({ what }) => what === "operator")).toHaveLength(2);
    expect(strays(seen)).toEqual([]);
  });

  it("runs in nobody's context after a rest: the decider's is not the operator's", async () => {
    const { seen, options } = watched({ asks: true });
    await using t = await createTestKernel(options);
    const [who] = people as [string];
    const { workflow_id } = await storage.run(who, () => t.kernel.submit(of(who)));
    expect((await t.rest(workflow_id)).state).toBe("waiting_for_user");
    expect(seen.find(({ what }) => what === "preview")?.store).toBe(who);
    const begun = seen.length;
    await storage.run("decider", () => t.approve(workflow_id));
    expect((await t.rest(workflow_id)).state).toBe("completed");
    const later = seen.slice(begun).filter(({ what }) => what !== "notifier");
    expect(later.map(({ what }) => what)).toContain("second operator");
    expect(later.map(({ store }) => store).filter((store) => store !== undefined)).toEqual([]);
  });

  it("runs in nobody's context after a restart", async () => {
    const { seen, options } = watched();
    const path = freshPath();
    const [who] = people as [string];
    const before = await createTestKernel({ ...options, ledger: sqliteLedger({ path }) });
    const { workflow_id } = await storage.run(who, () => before.kernel.submit(of(who)));
    await before.kernel.stop({ drainMs: 0 });
    const begun = seen.length;
    await using t = await storage.run("restart", () =>
      createTestKernel({ ...options, seed: 2, ledger: sqliteLedger({ path }) }),
    );
    expect((await storage.run("reader", () => t.rest(workflow_id))).state).toBe("completed");
    expect(seen.slice(begun).map(({ what }) => what)).toContain("second operator");
    expect(seen.slice(begun).filter(({ store }) => store !== undefined)).toEqual([]);
  });

  it("that requests share runs in no caller's context: notifiers, store writes; subscribers keep theirs", async () => {
    const { seen, note, options } = watched({ asks: true });
    const ledger = sqliteLedger({ path: freshPath() });
    const append = ledger.append.bind(ledger);
    const noted: LedgerStore["append"] = (...given) => {
      note("append", null);
      return append(...given);
    };
    await using t = await createTestKernel({ ...options, ledger: Object.assign(ledger, { append: noted }) });
    const heard = new Set<string | undefined>();
    storage.run("subscriber", () => t.kernel.bus.signals.subscribe(() => void heard.add(storage.getStore())));
    const asked = people.map((who) => storage.run(who, () => t.kernel.submit(of(who))));
    for (const { workflow_id } of await Promise.all(asked)) await t.rest(workflow_id);
    await t.clock.advance(0);
    await storage.run("redeliverer", () => t.kernel.redeliver("notes"));
    await t.clock.advance(1);
    const shared = seen.filter(({ who }) => who === null);
    expect(whatOf(shared)).toEqual(["append", "notifier"]);
    expect(shared.filter(({ store }) => store !== undefined)).toEqual([]);
    expect([...heard]).toEqual(["subscriber"]);
  });

  it("hears of a cancellation in its own context, whoever cancels", async () => {
    const stores: (string | undefined)[] = [];
    const began = Promise.withResolvers<void>();
    const waits = defineOperator({
      name: "Context.Wait",
      effect: "none",
      input: z.object({}),
      honoursAbort: true,
      run: ({ signal }) =>
        new Promise((_, reject) => {
          signal.addEventListener("abort", () => {
            stores.push(storage.getStore());
            reject(signal.reason);
          });
          began.resolve();
        }),
    });
    const capability = defineCapability({
      intentType,
      version: "1.0",
      input: z.object({ who: z.string() }),
      operators: [waits],
      plan: { reasoning: "waits", steps: [{ step_id: "s", name: "s", operator: "Context.Wait" }] },
    });
    await using t = await createTestKernel({ capabilities: [capability] });
    const { workflow_id } = await storage.run("ann", () => t.kernel.submit(of("ann")));
    await began.promise;
    const { tenant_id, principal } = of("ann");
    await storage.run("canceller", () => t.kernel.cancel(workflow_id, { tenant_id, principal }));
    await t.rest(workflow_id);
    expect(stores).toEqual(["ann"]);
  });
});
