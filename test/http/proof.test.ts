/** What a page asks beyond lists: a workflow as it was, who may decide, and what shows that the record holds. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { foldEvents } from "../../machines/index.ts";
import type { BudgetPage } from "../../src/contract/budget-page.ts";
import { openTurns } from "../../src/contract/turn.ts";
import {
  type Budgets,
  createKernel,
  type Gate,
  type TurnRow,
  verifyEvidence,
  type WorkflowState,
} from "../../src/index.ts";
import { cedar } from "../../src/packages/policies/cedar/index.ts";
import { opa } from "../../src/packages/policies/opa/index.ts";
import type { LedgerStore } from "../../src/ports/ledger-store.ts";
import { memoryLedger } from "../../src/testing/memory-ledger.ts";
import { eventsOf } from "../fixtures.ts";
import { decide, intent, publishing } from "../gates/story.ts";
import { regoBundle } from "../policies/rego-bundles.ts";
import { codeOf, type EdgeUnderTest, openEdge, pathOf } from "./edge-fixture.ts";
import { readMessages } from "./sse-reader.ts";

const openStory = (more: Parameters<typeof publishing>[0] = {}) =>
  openEdge({ capabilities: [publishing(more).capability], budgets });

const budgets: Budgets = {
  limits: [
    { scope: "tenant", window: "day", invocations: 5 },
    { scope: "operator", invocations: 3 },
    { scope: "principal", id: "bo", tokens: 10 },
    { scope: "tenant", tenant_id: 2, invocations: 1 },
  ],
};

/** A workflow that has come to its end past a gate. */
async function complete({ t }: EdgeUnderTest): Promise<string> {
  const { workflow_id: id } = await t.run(intent);
  await t.approve(id, "gate-publish");
  await t.rest(id);
  return id;
}

const golden = join(import.meta.dirname, "../replay/golden/0.1.0");
const goldens = readdirSync(golden).filter((file) => file.endsWith(".jsonl"));
const rowsOf = (file: string): readonly TurnRow[] =>
  readFileSync(join(golden, file), "utf8")
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as TurnRow);

describe("a workflow at a sequence", () => {
  it("is the fold of its events up to there, for each of them, and so is what explains it", async () => {
    await using edge = await openStory();
    const id = await complete(edge);
    const events = await eventsOf(edge.t, id);
    for (const { sequence } of events) {
      const folded = foldEvents(events.slice(0, sequence));
      const { body } = await edge.ask<WorkflowState>(pathOf(id, `?at=${sequence}`));
      expect([body.sequence, body.state]).toEqual([sequence, folded?.state]);
      expect(body.steps.map(({ state }) => state)).toEqual([...(folded?.steps.values() ?? [])].map((s) => s.state));
      const explained = await edge.ask<{ readonly state: string }>(pathOf(id, `/explain?at=${sequence}`));
      expect(explained.body.state).toBe(folded?.state);
    }
    const { body: now } = await edge.ask(pathOf(id));
    expect((await edge.ask(pathOf(id, `?at=${events.length}`))).body).toEqual(now);
  });

  it.each(goldens)("of the golden ledger %s is the fold of each prefix", async (file) => {
    const rows = rowsOf(file);
    const store = memoryLedger();
    const read: LedgerStore["read"] = async (_stream, after = 0, limit) =>
      rows.filter((row) => row.first_sequence > after).slice(0, limit);
    const ledger = { ...store, read };
    await using kernel = await createKernel({ ledger, recover: false });
    const events = openTurns(rows);
    for (const { sequence, workflow_id } of events) {
      const folded = foldEvents(events.slice(0, sequence));
      const shown = await kernel.workflow(String(workflow_id), undefined, { at: sequence });
      expect([shown.sequence, shown.state]).toEqual([sequence, folded?.state]);
      expect(shown.steps.map((step) => [step.step_id, step.state, step.phase])).toEqual(
        [...(folded?.steps ?? [])].map(([id, step]) => [id, step.state, step.phase]),
      );
      expect(shown.gates.map((gate) => [gate.gate_id, gate.status])).toEqual(
        [...(folded?.gates ?? [])].map(([id, gate]) => [id, gate.status]),
      );
    }
  });

  it("that the ledger has not come to is not found, and what is none is refused", async () => {
    await using edge = await openStory();
    const id = await complete(edge);
    const told = await edge.ask(pathOf(id, "?at=1000"));
    expect([told.status, codeOf(told)]).toEqual([404, "T4_SEQUENCE_NOT_FOUND"]);
    for (const at of ["0", "-1", "x", "1.5", ""]) expect((await edge.ask(pathOf(id, `?at=${at}`))).status).toBe(400);
    await expect(edge.t.kernel.workflow(id, undefined, { at: 0 })).rejects.toThrow("from 1");
    await expect(edge.t.kernel.explain(id, undefined, { att: 1 } as never)).rejects.toThrow('did you mean "at"');
  });
});

describe("a seat at a gate", () => {
  const seatOf = async (edge: EdgeUnderTest, id: string, as: string) =>
    (await edge.ask<Gate>(pathOf(id, "/gates/gate-publish"), { as })).body.seat;

  it("says to each reader whether they may decide, and why not", async () => {
    await using edge = await openStory({ gate: { roles: ["admin"], advisors: ["support"] } });
    const { workflow_id: id } = await edge.t.run(intent);
    expect(await seatOf(edge, id, "admin")).toEqual({ may: true, reason: null, for: null });
    expect(await seatOf(edge, id, "own")).toMatchObject({
      may: false,
      reason: expect.stringContaining("not for user"),
    });
    expect(await seatOf(edge, id, "reader")).toMatchObject({
      may: false,
      reason: expect.stringContaining("gate:approve"),
    });
    const listed = await edge.ask<{ readonly gates: readonly Gate[] }>("/v1/kernel/gates", { as: "own" });
    expect(listed.body.gates.map(({ seat }) => seat?.may)).toEqual([false]);
  });

  it("that was lent says whose it is; at a gate that is decided there is none", async () => {
    await using edge = await openStory({ gate: { approvers: [{ id: 1 }] } });
    const { workflow_id: id } = await edge.t.run(intent);
    const expires_at = new Date(edge.t.clock.now() + 60_000).toISOString();
    expect((await seatOf(edge, id, "admin"))?.may).toBe(false);
    await edge.post(pathOf(id, "/delegate"), {
      gate_id: "gate-publish",
      to: { type: "user", id: "admin" },
      expires_at,
    });
    expect(await seatOf(edge, id, "admin")).toEqual({ may: true, reason: null, for: { type: "user", id: 1 } });
    await decide(edge.t, id, { decision: "approve" });
    expect(await seatOf(edge, id, "admin")).toBeNull();
  });
});

describe("what shows that a record holds", () => {
  it("is told of a workflow: its audit, its chain, its evidence, its replay", async () => {
    await using edge = await openStory();
    const id = await complete(edge);
    const { body: audit } = await edge.ask(pathOf(id, "/audit"));
    expect(audit["entries"]).toEqual(await edge.t.kernel.audit(id));
    const { body: verified } = await edge.ask(pathOf(id, "/verify"));
    expect(verified).toEqual({ ok: true, checked: expect.any(Number), broken: [] });
    const evidence = await edge.fetch(pathOf(id, "/evidence"));
    const lines = (await evidence.text()).trimEnd().split("\n");
    expect(evidence.headers.get("content-type")).toBe("application/jsonl");
    expect((await verifyEvidence(lines)).ok).toBe(true);
    const { body: replayed } = await edge.post(pathOf(id, "/replay"), {});
    expect(replayed).toMatchObject({ workflow_id: id, identical: true, difference: null });
  });

  it("is told of the caller's own workflows alone, and of one that was refused before anything is sent", async () => {
    await using edge = await openStory();
    const id = await complete(edge);
    for (const rest of ["/audit", "/verify", "/evidence"])
      expect([rest, (await edge.ask(pathOf(id, rest), { as: "foreign" })).status]).toEqual([rest, 404]);
    expect((await edge.post(pathOf(id, "/replay"), {}, "foreign")).status).toBe(404);
  });

  it("is made for one caller one at a time", async () => {
    await using edge = await openStory();
    const id = await complete(edge);
    const told = await Promise.all([1, 2].map(() => edge.post(pathOf(id, "/replay"), {})));
    expect(told.map(({ status }) => status).sort()).toEqual([200, 429]);
    expect(told.map(codeOf)).toContain("T0_HTTP_CALLER_BUSY");
    expect((await edge.post(pathOf(id, "/replay"), {})).status).toBe(200);
  });
});

describe("budgets", () => {
  it("are told with the counters of this window, those of other tenants left out", async () => {
    await using edge = await openStory();
    await complete(edge);
    const { body } = await edge.ask<BudgetPage>("/v1/kernel/budgets");
    expect(body.budgets.map(({ scope, ceiling, id, used }) => [scope, ceiling, id, used?.invocations])).toEqual([
      ["tenant", { invocations: 5 }, 1, 2],
      ["operator", { invocations: 3 }, "Note.Draft", 1],
      ["operator", { invocations: 3 }, "Note.Publish", 1],
      ["principal", { tokens: 10 }, "bo", 0],
    ]);
    expect(body.next).toBeNull();
    await edge.t.clock.advance(86_400_000);
    const tomorrow = await edge.ask<BudgetPage>("/v1/kernel/budgets?scope=tenant");
    expect(tomorrow.body.budgets.map(({ used }) => used?.invocations)).toEqual([0]);
  });
});

describe("what-if", () => {
  const when = { operators: ["Note.Draft"] };
  const rule = { name: "no", stages: ["action"], when, decision: "DENY", reason: "no" };
  const rules = JSON.stringify({ version: "none", rules: [rule] });
  const askWhatIf = (edge: EdgeUnderTest, body: object) => edge.fetch("/v1/kernel/whatif", { body });

  it("tells what differs as it is found, and the counts at the end", async () => {
    await using edge = await openStory();
    const id = await complete(edge);
    const told = await readMessages(await askWhatIf(edge, { rules }));
    expect(told.map(({ data }) => (data as { kind: string }).kind)).toEqual(["differs", "report"]);
    expect(told[0]?.data).toMatchObject({
      workflow_id: id,
      was: { decision: "ALLOW" },
      would_be: { decision: "DENY" },
    });
    expect(told[1]?.data).toMatchObject({ differing: 1, reported: 1, changes: { "ALLOW → DENY": 1 } });
  });

  it.each([
    ["rules: [", "T5_POLICY_INVALID"],
    ["version: a\nversion: b\nrules: []", "T5_POLICY_INVALID"],
    ["&a [*a, *a]", "T5_POLICY_INVALID"],
    ["version: x\nrules: [{ name: y, stagse: [action] }]", "T5_POLICY_INVALID"],
  ])("refuses rules that are none: %j", async (wrong, code) => {
    await using edge = await openStory();
    const told = await edge.post("/v1/kernel/whatif", { rules: wrong });
    expect([told.status, codeOf(told)]).toEqual([400, code]);
    expect(await readMessages(await askWhatIf(edge, { rules }))).toHaveLength(1);
  });

  const cedarText = '@id("no") @reason("no") forbid(principal, action == Action::"Note.Draft", resource);';
  const bundle = Buffer.from(regoBundle("policies")).toString("base64");
  const spelled: readonly (readonly [string, object])[] = [
    ["YAML", { rules }],
    ["Cedar", { cedar: { policies: `@id("base") permit(principal, action, resource); ${cedarText}` } }],
  ];
  const languages = { policyLanguages: { cedar, opa } };

  it("answers alike for rules in each language that the host reads", async () => {
    await using edge = await openEdge({ capabilities: [publishing().capability] }, languages);
    await edge.t.run(intent);
    const found = [];
    for (const [, body] of spelled) {
      const [first, report] = await readMessages(await askWhatIf(edge, body));
      expect(report?.data).toMatchObject({ differing: 1, unknown: 0 });
      const differs = first?.data as { readonly would_be: object; readonly reason: string } | undefined;
      found.push({ reason: differs?.reason, ...differs?.would_be, policy_version: "" });
    }
    expect(found[1]).toEqual(found[0]);
    const asked = { bundle, entrypoint: "past/decisions", stages: ["action"] };
    const told = await readMessages(await askWhatIf(edge, { rego: asked }));
    const made = opa({ bundle: regoBundle("policies"), entrypoint: "past/decisions" });
    expect(told.at(-1)?.data).toMatchObject({ policy_version: `${made.version}+default-1`, differing: 0 });
  });

  it.each([
    ["none", {}, languages, "T0_VALIDATION_SCHEMA_MISMATCH"],
    ["two", { rules, cedar: { policies: cedarText } }, languages, "T0_VALIDATION_SCHEMA_MISMATCH"],
    ["an unknown member", { cedar: { policies: cedarText, entities: [] } }, languages, "T0_VALIDATION_SCHEMA_MISMATCH"],
    ["a mistake in Cedar", { cedar: { policies: "forbid(" } }, languages, "T5_POLICY_INVALID"],
    ["no bundle", { rego: { bundle: "AAAA" } }, languages, "T5_POLICY_INVALID"],
    ["no base64", { rego: { bundle: "%" } }, languages, "T0_VALIDATION_SCHEMA_MISMATCH"],
    ["Cedar that the host does not read", { cedar: { policies: cedarText } }, {}, "T5_POLICY_INVALID"],
    ["Rego that the host does not read", { rego: { bundle } }, {}, "T5_POLICY_INVALID"],
  ])("refuses policies with %s before anything is streamed", async (_name, body, options, code) => {
    await using edge = await openEdge({ capabilities: [publishing().capability] }, options);
    const told = await edge.post("/v1/kernel/whatif", body);
    expect([told.status, codeOf(told)]).toEqual([400, code]);
  });

  it("takes so many rules as can be read in one go, and no longer text", async () => {
    await using edge = await openStory();
    const padded = (length: number) => `${rules} #`.padEnd(length, "-");
    expect((await edge.post("/v1/kernel/whatif", { rules: padded(65_537) })).status).toBe(400);
    expect((await askWhatIf(edge, { rules: padded(65_536) })).status).toBe(200);
  });

  it("tells so many findings at most and counts the others; who leaves may ask again", async () => {
    await using edge = await openEdge(
      { capabilities: [publishing().capability] },
      { limits: { maxWhatIfFindings: 1 } },
    );
    for (let n = 0; n < 3; n += 1) await edge.t.run(intent);
    const told = await readMessages(await askWhatIf(edge, { rules }));
    expect(told.at(-1)?.data).toMatchObject({ differing: 3, reported: 1 });
    const left = await askWhatIf(edge, { rules });
    expect((await edge.post("/v1/kernel/whatif", { rules })).status).toBe(429);
    await left.body?.cancel();
    expect((await askWhatIf(edge, { rules })).status).toBe(200);
  });
});
