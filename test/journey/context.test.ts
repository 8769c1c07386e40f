/**
 * The context builder (seed 003 sections 2.3, 5.3): what a bundle holds, where it comes from, and what it never holds.
 */
import { describe, expect, it } from "vitest";
import { moduleRef } from "../../src/contract/module-ref.ts";
import { ContextBundle, canonicalJson, createDataSignal, generateId, type Planner } from "../../src/index.ts";
import { createTestKernel, type TestKernel } from "../../src/testing/index.ts";
import {
  type Asked,
  counted,
  eventsOf,
  intentType,
  listOf,
  ofType,
  oneStep,
  packageOf,
  planStep,
  toldLedger,
} from "./parts.ts";

const scope = { scope_type: "folder", scope_id: 12 };
const fact = { tenant_id: 1, type: "fact", source: "host", confidence: 0.9 };
const document = {
  tenant_id: 1,
  document_id: "d1",
  title: "Report",
  processed_content: { hash: "sha256-abc", bytes: 5_000_000, summary: "about rain" },
  missing_fields: ["author"],
};
const refs = { parent: 77, document_ids: ["d1"] };
const allowAll = { allow_pii: true, allow_external_send: false };

interface Built {
  readonly bundle: ContextBundle;
  readonly cache_hit: boolean;
}

const ids = ["intent", "workflow"].map(generateId) as [string, string];

/** Asks T2 for the bundle of an intent; gives it with the Result's metrics. */
async function build(t: TestKernel, more: object = {}, dataPolicy: object = allowAll, objective: string | null = null) {
  const [intent_id, workflow_id] = ids;
  const intent = { intent_id, type: intentType, inputs: {}, constraints: {}, context_refs: refs, text: "rain", scope };
  const auth = { tenant_id: 1, principal_id: 1, role: "user", scopes: [], data_policy: dataPolicy };
  const data = { intent: { ...intent, ...more }, auth, thread_id: "t", workflow_id, objective };
  const signal = createDataSignal(data, "ContextRequest", moduleRef(4, "test", "observe"), "cor_test");
  const result = await t.kernel.ask(2, signal);
  return { ...(result.signals[0]?.body["data"] as unknown as Built), metrics: result.metrics };
}

/** One record of each sort, and three finished workflows on the thread. */
async function furnish(t: TestKernel): Promise<void> {
  const { memory, documents } = t.kernel;
  await memory.write({ ...fact, key: "profile:1", value: { language: "en", phone: "0660-1" } });
  await memory.write({ ...fact, thread_id: "t", key: "mood", value: "calm" });
  await memory.write({ ...fact, key: "scope:folder:12", value: { colour: "blue", owner_name: "A", name: "Ann" } });
  await memory.write({ ...fact, key: "entity:parent:77", value: { summary_outcome_id: "out_known" } });
  await memory.write({ ...fact, key: "weather", value: "much rain" });
  await documents.record(document);
  for (let i = 0; i < 3; i += 1) await t.run(intentType, {}, { thread_id: "t" });
}

const furnished = async (options: Parameters<typeof createTestKernel>[0] = {}) => {
  const t = await createTestKernel({ capabilities: [oneStep(counted("Notes.Write"))], ...options });
  await furnish(t);
  return t;
};

describe("what a bundle holds", () => {
  it("[CTX-02] profile, typed memory, scope, entities, documents, thread summary, only the last events", async () => {
    await using t = await furnished({ limits: { maxRecentEvents: 2 } });
    const { bundle } = await build(t);
    expect(ContextBundle.parse(bundle)).toEqual(bundle);
    expect(bundle.profile).toMatchObject({ principal_id: 1, role: "user", fields: { language: "en" } });
    expect(bundle.memory.find((m) => m.key === "mood")).toEqual({
      key: "mood",
      type: "fact",
      value: "calm",
      source: "host",
      confidence: 0.9,
    });
    expect(bundle.scope).toMatchObject({ ...scope, facts: { colour: "blue" } });
    expect(bundle.entities).toEqual([{ ref: "parent", id: 77, summary_outcome_id: "out_known" }]);
    expect(bundle.documents).toMatchObject([{ document_id: "d1", hash: "sha256-abc", missing_fields: ["author"] }]);
    expect(bundle.thread_summary).toBe("{}");
    const newest = await t.kernel.workflows({ thread_id: "t", limit: 2 });
    expect(bundle.recent_events.map(({ workflow_id }) => workflow_id)).toEqual(newest.map((w) => w.workflow_id));
    expect(bundle.recent_events.map((e) => e.event_type)).toEqual(["WORKFLOW_COMPLETED", "WORKFLOW_COMPLETED"]);
  });

  it("[CTX-01] is read from the ledgers alone, and reflects intent, thread, scope and references", async () => {
    const asked: Asked[] = [];
    await using t = await furnished({ ledger: toldLedger((call) => asked.push(call)) });
    asked.length = 0;
    const { bundle } = await build(t);
    const reads = new Set(asked.map(({ call }) => call));
    expect(reads.size).toBeGreaterThan(0);
    expect([...reads].filter((call) => !["version", "memory", "documents", "listHeads"].includes(call))).toEqual([]);
    expect(bundle).toMatchObject({ thread_id: "t", scope, profile: { tenant_id: 1 } });
    expect(bundle.semantic.map((m) => m.key)).toContain("weather");
    const other = { intent_id: generateId("intent"), scope: null, context_refs: {}, text: "nothing known" };
    const without = await build(t, other);
    expect(without.bundle).toMatchObject({ scope: null, entities: [], documents: [] });
    expect(without.bundle.semantic.map((m) => m.key)).not.toContain("weather");
  });

  it("[CTX-03] a document of 5 MB is there by its hash, not its text, in a bundle of bounded size", async () => {
    const maxBundleChars = 4_000;
    await using t = await createTestKernel({ limits: { maxBundleChars } });
    const text = "It rained all day. ".repeat(270_000);
    await t.kernel.documents.record({ ...document, content: text });
    for (let i = 0; i < 20; i += 1)
      await t.kernel.memory.write({ ...fact, thread_id: "t", key: `long-${i}`, value: "x".repeat(1_000) });
    const { bundle } = await build(t);
    const written = JSON.stringify(bundle);
    expect(written.length).toBeLessThan(maxBundleChars + 200);
    expect(written).toContain("sha256-abc");
    expect(written).not.toContain("It rained all day");
  });

  it("[CTX-03] what does not fit into a bundle at all is left out of it to the last record", async () => {
    await using t = await furnished({ limits: { maxBundleChars: 1 } });
    const { bundle } = await build(t);
    expect(bundle).toMatchObject({ semantic: [], memory: [], recent_events: [], thread_summary: null });
  });
});

describe("building", () => {
  it("[CTX-04] gives the same bundle for the same ledgers, and another after an event", async () => {
    await using one = await furnished();
    await using two = await furnished();
    const first = (await build(one)).bundle;
    const second = (await build(two)).bundle;
    expect(canonicalJson(second)).toBe(canonicalJson(first));
    expect(second.context_hash).toBe(first.context_hash);
    await one.run(intentType, {}, { thread_id: "t" });
    expect((await build(one)).bundle.context_hash).not.toBe(first.context_hash);
  });

  it("[CTX-04] twice in one kernel gives equal hashes, also where the cache cannot help", async () => {
    await using t = await furnished({ limits: { maxCachedBundles: 0 } });
    const [first, second] = [await build(t), await build(t)];
    expect(second.cache_hit).toBe(false);
    expect(canonicalJson(second.bundle)).toBe(canonicalJson(first.bundle));
  });

  it("[CTX-05] unchanged ledgers are a cache hit that reads only their version; an event is a miss", async () => {
    const asked: Asked[] = [];
    await using t = await furnished({ ledger: toldLedger((call) => asked.push(call)) });
    expect((await build(t)).metrics.cache_hit).toBe(false);
    asked.length = 0;
    const again = await build(t);
    expect(again.metrics.cache_hit).toBe(true);
    expect(asked.map(({ call }) => call)).toEqual(["version"]);
    await t.kernel.memory.write({ ...fact, thread_id: "t", key: "mood", value: "stormy" });
    const after = await build(t);
    expect(after.metrics.cache_hit).toBe(false);
    expect(after.bundle.memory.find((m) => m.key === "mood")?.value).toBe("stormy");
  });

  it("[CTX-05] work that another person has done again concerns that person, not the first requester", async () => {
    await using t = await createTestKernel({ capabilities: [oneStep(counted("Notes.Write"))] });
    for (const id of ["ann", "bob"]) await t.kernel.memory.write({ ...fact, key: `profile:${id}`, value: { is: id } });
    const by = (id: string) => ({ tenant_id: 1, principal: { type: "user", id, role: "user" } });
    const { workflow_id } = await t.run(intentType, {}, { ...by("ann"), scope });
    const again = await t.kernel.retry(workflow_id, { ...by("bob"), mode: "regenerate" });
    await t.rest(again.workflow_id);
    const profiles = [workflow_id, again.workflow_id].map(async (id) => {
      const [built] = ofType(await eventsOf(t, id), "CONTEXT_BUILT");
      return (built?.payload["bundle"] as ContextBundle | undefined)?.profile;
    });
    expect(await Promise.all(profiles)).toMatchObject(
      ["ann", "bob"].map((id) => ({ principal_id: id, fields: { is: id } })),
    );
  });

  it("[CTX-05] another objective finds what concerns it, also where the ledgers are the same", async () => {
    await using t = await furnished();
    await t.kernel.memory.write({ ...fact, key: "snowfall", value: "much snow" });
    expect((await build(t)).bundle.semantic.map(({ key }) => key)).toContain("weather");
    expect((await build(t, {}, allowAll, "snow")).bundle.semantic.map(({ key }) => key)).toContain("snowfall");
  });

  it("[CTX-06] without allow_pii personal fields are masked, and others kept", async () => {
    await using t = await furnished();
    const { bundle } = await build(t, {}, { ...allowAll, allow_pii: false });
    expect(bundle.profile.fields).toEqual({ language: "en", phone: "[masked]" });
    expect(bundle.scope?.facts).toMatchObject({ colour: "blue", name: "[masked]" });
    const open = await build(t);
    expect(open.bundle.profile.fields).toEqual({ language: "en", phone: "0660-1" });
  });

  it("[CTX-06] what is masked is masked in all that is recorded and logged of the bundle", async () => {
    const scopes = ["intent:submit", "workflow:execute"];
    const roles = { user: { scopes, data_policy: { allow_pii: false } } };
    const write = counted("Notes.Write");
    await using t = await furnished({ roles, capabilities: [oneStep(write)] });
    const { workflow_id } = await t.run(intentType, {}, { thread_id: "t", scope });
    const [built] = ofType(await eventsOf(t, workflow_id), "CONTEXT_BUILT");
    expect(built?.payload["bundle"]).toMatchObject({ profile: { fields: { phone: "[masked]", language: "en" } } });
    const told = JSON.stringify([
      await eventsOf(t, workflow_id),
      await listOf(t.kernel.export(workflow_id)),
      t.logged,
      t.marks,
      write.calls.at(-1)?.context,
    ]);
    expect(told).not.toContain("0660-1");
    expect(told).not.toContain("Ann");
  });
});

describe("who gets a bundle", () => {
  /** Paths of everything in a value that is no plain data. */
  function foreignIn(value: unknown, path = ""): string[] {
    if (typeof value === "function") return [path];
    if (typeof value !== "object" || value === null) return [];
    const prototype = Object.getPrototypeOf(value) as unknown;
    const plain = Array.isArray(value) || prototype === Object.prototype || prototype === null;
    const within = Object.entries(value).flatMap(([key, member]) => foreignIn(member, `${path}.${key}`));
    return plain ? within : [path, ...within];
  }

  it("[CTX-07] planner, operator and preview get plain data: no store, no ledger, nothing to call", async () => {
    const given: unknown[] = [];
    const planner: Planner = {
      plan({ capability, ...question }) {
        given.push(question);
        return { plan: capability.plan as never, usage: { total_cost: 0 } };
      },
    };
    const write = counted("Notes.Write");
    const file = counted("Notes.File", {
      preview: ({ context }) => {
        given.push(context);
        return { preview: "shown" };
      },
    });
    const steps = [planStep("s1", write), planStep("s2", file, { gate: {}, depends_on: ["s1"] })];
    await using _t = await furnished({ planner, capabilities: [packageOf([write, file], steps)] });
    given.push(...write.calls.map((c) => c.context));
    expect(given.length).toBeGreaterThan(6);
    for (const each of given) expect(foreignIn(each)).toEqual([]);
    for (const each of given) expect(JSON.stringify(each)).not.toMatch(/"(store|ledger|kernel|database)"/);
  });

  it("[CTX-07] a call carries, beside data, ways to report, record and ask a model, and the stop signal", async () => {
    const write = counted("Notes.Write");
    await using t = await createTestKernel({ capabilities: [oneStep(write)] });
    await t.run(intentType);
    const call = write.calls[0] as object;
    const callable = Object.entries(call).filter(([, member]) => foreignIn(member).length > 0);
    expect(callable.map(([name]) => name).sort()).toEqual([
      "capabilityUsage",
      "checkpoint",
      "emit",
      "report",
      "route",
      "signal",
      "stream",
      "usage",
      "waitUrl",
    ]);
  });
});
