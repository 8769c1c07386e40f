/** A drawn run shows its people: whoever asked for a gate, edited, voted and decided, when, and what nobody decided. */
import { describe, expect, it } from "vitest";
import type { ExecutionPlan, GateSpec } from "../../src/index.ts";
import { readPlan, readRun } from "../../src/observers/drawing/plan-model.ts";
import { renderPlanMermaid } from "../../src/observers/drawing/render-plan-mermaid.ts";
import { renderPlanSvg } from "../../src/observers/drawing/render-plan-svg.ts";
import { createTestKernel, type TestKernel } from "../../src/testing/index.ts";
import { ann, approve, bob, cat, reject, waiting } from "../gates/people.ts";
import { counted, decide, gatedSteps, intent, publishing, step, story } from "../gates/story.ts";
import { begin, booking, empty, fail, open } from "../lifecycle/booked-trip.ts";
import { order, pay } from "../lifecycle/shop-children.ts";
import { marksIn, outsideOf, overlapsIn } from "./marks.ts";

const approvers = [ann, bob, cat].map(({ type, id }) => ({ type, id }));
const twoOfThree: Partial<GateSpec> = { approvers, quorum: { approvals: 2 } };

const paying = (gate: Partial<GateSpec>) => {
  const pay = counted("Bank.Pay", { effect: "write_draft" });
  const params = { to: "Miller", amount_eur: 61_000 };
  return story([pay], [step("pay", pay, { gate, params })]);
};

/** Reads the drawing of a run as one text: a continued line is joined to its beginning. */
async function drawn(t: TestKernel, id: string, reader?: typeof ann): Promise<string> {
  const caller = reader && { tenant_id: 1, principal: reader };
  const svg = renderPlanSvg(readRun(await t.kernel.workflow(id, caller)));
  expect([overlapsIn(svg), outsideOf(svg)]).toEqual([[], []]);
  return marksIn(svg)
    .texts.map(({ words }) => words)
    .join("\n")
    .replaceAll("\n↳ ", " ");
}

describe("a drawn run", () => {
  it("shows a gate that policy raised, with its reason, its time and whoever approved it", async () => {
    await using t = await createTestKernel({ capabilities: [publishing().capability] });
    const id = await waiting(t);
    expect(await drawn(t, id)).toMatch(
      /\ngate-publish open, opened at \S+Z\nasked by policy "[^"]+": [^\n]+\n(.*\n)*if approved: [^\n]+\nif rejected: /,
    );
    await approve(t, id, bob, { comment: "as we agreed" });
    await t.rest(id);
    const text = await drawn(t, id);
    expect(text).toMatch(/\ngate-publish approved, opened at /);
    expect(text).toMatch(/\napproved by user bob \(user\) at \S+Z, "as we agreed"/);
    expect(text).toMatch(/completed, accepted at \S+Z, ended at \S+Z/);
    expect(text).not.toContain("if rejected");
  });

  it("shows each vote, how many are still missing, and whose votes carried the decision", async () => {
    await using t = await createTestKernel({ capabilities: [paying(twoOfThree)] });
    const id = await waiting(t);
    await approve(t, id, bob);
    const one = await drawn(t, id);
    expect(one).toMatch(/\nuser bob \(user\) voted: approve, at \S+Z\napprovals: 1 of 2, rejections: 0 of 2\n/);
    expect(one).toContain("waits for user ann, user bob, user cat");
    await approve(t, id, cat, { comment: "fine" });
    await t.rest(id);
    const two = await drawn(t, id);
    expect(two).toContain("approvals: 2 of 2, rejections: 0 of 2");
    expect(two).toMatch(/\napproved by user cat \(user\) at \S+Z, with the votes of user bob, user cat, "fine"/);
  });

  it("shows for whom a stand-in has voted, in the vote and in the decision that it carried", async () => {
    await using t = await createTestKernel({ capabilities: [paying(twoOfThree)] });
    const dee = { type: "user", id: "dee", role: "user" };
    const until = new Date(t.clock.now() + 86_400_000).toISOString();
    await t.kernel.standIn({ tenant_id: 1, principal: bob, to: { id: "dee" }, until, reason: "away" });
    const id = await waiting(t);
    await approve(t, id, dee);
    const one = await drawn(t, id);
    expect(one).toMatch(/\nuser dee \(user\) in the place of user bob voted: approve, at \S+Z\napprovals: 1 of 2/);
    await approve(t, id, cat);
    await t.rest(id);
    expect(await drawn(t, id)).toMatch(/with the votes of user dee in the place of user bob, user cat/);
  });

  it("shows who rejected, and that the step was not run", async () => {
    await using t = await createTestKernel({ capabilities: [paying({})] });
    const id = await waiting(t);
    await reject(t, id, ann, { comment: "too much" });
    await t.rest(id);
    expect(await drawn(t, id)).toMatch(
      /\ngate-pay rejected, [^\n]*\n(.*\n)*rejected by user ann \(user\) at \S+Z, "too much"/,
    );
  });

  it("shows who edited the payload, when, and from what to what", async () => {
    await using t = await createTestKernel({ capabilities: [paying({ ...twoOfThree, separation: true })] });
    const id = await waiting(t);
    await approve(t, id, bob, { edit: { amount_eur: 6100 } });
    expect(await drawn(t, id)).toMatch(/\nEdited by user bob at \S+Z\nchanged amount_eur: 61000 → 6100\n/);
    expect(await drawn(t, id, cat)).toContain("if approved: One vote: 1 of 2 approvals");
    // The editor has no seat any more: that is nothing that happened in the run.
    expect(await drawn(t, id, bob)).not.toMatch(/if approved|cannot decide/);
  });

  it.each([
    ["deny", "expired", "decided by nobody: its time ran out, which denies the call, due at "],
    ["allow", "approved", "decided by nobody: its time ran out, which lets the call run, due at "],
    ["suspend", "suspended", "nobody decided in time: it waits for a person"],
  ] as const)("shows that nobody decided a gate whose expiry does %s", async (action, status, words) => {
    const { capability } = gatedSteps(1, { gate: { expiry: { after_ms: 60_000, action } } });
    await using t = await createTestKernel({ capabilities: [capability] });
    const id = await waiting(t);
    await t.clock.advance(60_000);
    const text = await drawn(t, id);
    expect(text).toContain(`gate-s1 ${status}, opened at `);
    expect(text).toContain(words);
  });

  it("shows a call in doubt, what it threw, and how it was settled by whom, in words", async () => {
    const send = counted("Note.Send", { effect: "write_draft" }, () => {
      throw new TypeError("connection reset by peer");
    });
    const capability = story([send], [step("send", send, { params: { text: "a" } })]);
    await using t = await createTestKernel({ capabilities: [capability], limits: { maxReplans: 0 } });
    const id = await waiting(t);
    const open = await drawn(t, id);
    expect(open).toContain("gate-send_doubt1 open: what became of the call?, opened at ");
    expect(open).toContain("threw connection reset by peer");
    await decide(t, id, { decision: "approve", gate_id: "gate-send_doubt1", payload: { resolution: "done" } });
    await t.rest(id);
    expect(await drawn(t, id)).toMatch(/\nIt happened by user 1 \(\w+\) at \S+Z/);
  });

  it("shows what was undone and the steps that undo it, and the child that a step has run", async () => {
    empty();
    await using t = await open([booking("a"), fail(["a"])]);
    const { id } = await begin(t);
    const text = await drawn(t, id);
    expect(text).toContain("undo:a: Undo Book a\nHotel.Free\nsucceeded");
    const drawing = readRun(await t.kernel.workflow(id));
    expect(drawing.nodes.find((node) => node.id === "undo:a")?.dependsOn).toEqual(["a"]);
    expect(text).toContain("undone by Hotel.Free");
    expect(text).toContain(`${id} failed`);
    await using shop = await createTestKernel({ capabilities: [order, pay] });
    const { workflow_id, steps } = await shop.run("Shop.Order");
    const child = steps.find((one) => one.step_id === "pay")?.child;
    expect(await drawn(shop, workflow_id)).toContain(`runs Shop.Pay@1.0\nchild ${child}`);
  });

  it("lets no name and no comment break the syntax, give a directive, or begin a line as a fact does", async () => {
    await using t = await createTestKernel({ capabilities: [paying(twoOfThree)] });
    const hostile = '"]:::x;<script>alert(1)</script>\n%%{init: {"theme":"dark"}}%% $$x$$ ‮&#35;`';
    const filler = `${"x ".repeat(30)}approved by user boss (admin) at noon `.repeat(3);
    const id = await waiting(t);
    await approve(t, id, bob, { comment: `${hostile} ${filler}` });
    const model = readRun(await t.kernel.workflow(id));
    const mermaid = renderPlanMermaid(model);
    const label = mermaid.split("\n").find((line) => line.startsWith("  n0")) ?? "";
    expect(label).toMatch(/^ {2}n0\["[^"<>`%$]*(<br\/>[^"<>`%$]*)*"\]:::waits$/);
    expect(mermaid.slice(3)).not.toContain("%%");
    const svg = renderPlanSvg(model);
    expect(svg.match(/<(?!\/?(svg|title|desc|style|defs|marker|path|rect|text|g)\b)/g)).toBe(null);
    expect(svg).not.toContain("‮");
    expect(model.nodes[0]?.lines.some((line) => /^approved by user boss/.test(line))).toBe(false);
    expect(model.nodes[0]?.lines.some((line) => line.includes("boss"))).toBe(true);
  });
});

describe("a drawn plan", () => {
  it("shows who decides a declared gate, how many, a rejection's end, and that policy may add one", async () => {
    const gate: GateSpec = {
      ...{ reason: "over 1,000 EUR", quorum: { approvals: 2, rejections: 2 }, approvers },
      expiry: { after_ms: 60_000, action: "deny" },
    };
    const steps = [{ step_id: "pay", name: "Pay", operator: "Bank.Pay", gate }];
    const { subtitle, nodes } = readPlan("Pay", { reasoning: "", steps }, () => null);
    expect(subtitle).toBe("1 step, and policy may ask a person as well");
    expect(nodes[0]?.lines.join("\n").replaceAll("\n↳ ", " ").split("\n")).toEqual([
      "Bank.Pay",
      "asks a person first: over 1,000 EUR",
      "asked: user ann, user bob, user cat",
      "takes 2 approvals",
      "if nobody decides within 1 minute: the call is not made",
      "if rejected: the step does not run, and the workflow is cancelled once its other branches have ended",
    ]);
  });

  it("says conditions, loops, what a rejection leads to, and what undoes a step", () => {
    const total = "{{look.output.total}}";
    const steps: ExecutionPlan["steps"] = [
      {
        ...{ step_id: "pay", name: "Pay", operator: "Bank.Pay", gate: {}, on_reject: "continue", pivot: true },
        when: { value: total, at_least: 5, not: { value: "{{look.output.kind}}", equals: "test" } },
        undo: { operator: "Bank.PayBack", gate: {} },
      },
      {
        ...{ step_id: "mails", name: "Mails", kind: "each" as const, params: { items: "{{look.output.people}}" } },
        ...{ concurrency: 2, do: { operator: "Mail.Send", params: {}, gate: {} } },
      },
      {
        ...{ step_id: "poll", name: "Poll", kind: "repeat" as const, max: 9, every_ms: 60_000 },
        ...{ do: { kind: "run" as const, params: { intent: "Shop.Look" } }, until: { value: total, exists: true } },
      },
    ];
    const { nodes } = readPlan("Pay", { reasoning: "", steps }, () => null);
    const [pay = "", mails = "", poll = ""] = nodes.map(({ lines }) => lines.join("\n").replaceAll("\n↳ ", " "));
    expect(pay.replaceAll("\n", " ")).toContain(
      `only if ${total} is 5 or more and not ({{look.output.kind}} is "test") undone by Bank.PayBack, which asks`,
    );
    expect(pay).toContain("if rejected: the step is left out, and the plan goes on without it");
    expect(mails).toMatch(/for each item: Mail\.Send, which asks a\sperson first\n2 at once/);
    expect(poll).toContain(`again and again: runs Shop.Look\nuntil ${total} is there\nat most 9 times, every 1 minute`);
  });

  it("keeps a declared gate in the drawing of a run that has not opened it yet", async () => {
    const first = counted("Note.First", { effect: "write_draft" });
    const steps = [
      step("one", first, { gate: { reason: "look" } }),
      step("two", first, { gate: { reason: "look again" }, depends_on: ["one"] }),
    ];
    await using t = await createTestKernel({ capabilities: [story([first], steps)] });
    const { workflow_id } = await t.run(intent);
    expect(await drawn(t, workflow_id)).toContain("asks a person first: look again");
  });
});
