/** What an agent's model is told of its calls, and how strictly what it writes is read. */
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { defineOperator, definePolicySet } from "../../../src/index.ts";
import { says } from "../../routing/model-fixture.ts";
import { ann, begin } from "./shop.ts";
import { talking, wants } from "./talk.ts";

const payTurn = wants({ tool: "Shop_Pay", input: { order: "A-7", cents: 1999 } });
const rule = (more: object) => definePolicySet({ version: "1", rules: [{ name: "r", stages: ["action"], ...more }] });

/** The results of tools that the model was told of in this turn. */
const toldIn = ({ asked }: ReturnType<typeof talking>, turn: number) =>
  (asked[turn]?.prompt ?? [])
    .filter(({ role }) => role === "tool")
    .flatMap(({ content }) => content as unknown as { toolCallId: string; output: { type: string; value: unknown } }[]);

describe("a call that was not made as the model wrote it is told to the model", () => {
  it("with what it was made with, and the comment, where a person edited it", async () => {
    const talk = talking([payTurn, says("I paid ten.")]);
    await using t = await talk.opened;
    const { workflow_id } = await begin(t);
    const payload = { edit: { cents: 1000 }, comment: "half of {{it}} is enough" };
    await t.kernel.decideGate(workflow_id, { ...ann, decision: "approve", payload });
    expect((await t.rest(workflow_id)).state).toBe("completed");
    expect(talk.calls).toEqual(["pay A-7 1000"]);
    const note = "A person changed this call before it was made: half of {{it}} is enough";
    const value = { input: { order: "A-7", cents: 1000 }, note, output: null };
    expect(toldIn(talk, 1).map(({ output }) => output)).toEqual([{ type: "json", value }]);
    expect((await t.kernel.replay(workflow_id)).identical).toBe(true);
  });

  it("where a person edited it and said nothing, or where they edited it before they approved it", async () => {
    const talk = talking([payTurn, says("I paid ten.")]);
    await using t = await talk.opened;
    const { workflow_id } = await begin(t);
    await t.kernel.decideGate(workflow_id, { ...ann, decision: "approve", payload: { edit: { cents: 1000 } } });
    await t.rest(workflow_id);
    expect(toldIn(talk, 1)[0]?.output.value).toMatchObject({ note: "A person changed this call before it was made." });
  });

  it("where a rule transformed it, and where a rule masked it", async () => {
    const reason = "no more than 100 at once";
    const capped = rule({
      decision: "TRANSFORM",
      transform: { set: { cents: 100 } },
      when: { operators: ["Shop.Pay"] },
      reason,
    });
    const masked = rule({
      decision: "ALLOW_WITH_REDACTION",
      redactions: ["order"],
      when: { operators: ["Shop.Look"] },
      reason,
    });
    const look = { tool: "Shop_Look", input: { order: "A-7" } };
    const talk = talking([payTurn, wants(look), says("Done.")], {
      kernel: { policies: [capped], defaultPolicies: false },
    });
    await using t = await talk.opened;
    expect((await begin(t)).state.state).toBe("completed");
    const note = `A rule changed this call before it was made: ${reason}`;
    expect(toldIn(talk, 1)[0]?.output.value).toMatchObject({ input: { order: "A-7", cents: 100 }, note });
    const other = talking([wants(look), says("Done.")], { kernel: { policies: [masked] } });
    await using u = await other.opened;
    await begin(u);
    expect(toldIn(other, 1)[0]?.output.value).toMatchObject({
      input: { order: expect.not.stringContaining("A-7") },
      note,
    });
  });

  it("also where it failed as it was made", async () => {
    const lost = rule({
      decision: "TRANSFORM",
      transform: { set: { order: "lost" } },
      when: { operators: ["Shop.Look"] },
      reason: "moved",
    });
    const talk = talking([wants({ tool: "Shop_Look", input: { order: "A-7" } }), says("It is lost.")], {
      kernel: { policies: [lost] },
    });
    await using t = await talk.opened;
    await begin(t);
    const [told] = toldIn(talk, 1);
    expect(told?.output).toEqual({ type: "error-text", value: expect.stringContaining('{"order":"lost"}') });
    expect(told?.output.value).toContain("A rule changed this call before it was made: moved");
  });

  it("and nothing is added where it was made as it was written, though a person approved it", async () => {
    const talk = talking([payTurn, says("I paid.")]);
    await using t = await talk.opened;
    const { workflow_id } = await begin(t);
    await t.kernel.decideGate(workflow_id, { ...ann, decision: "approve", payload: { comment: "fine" } });
    await t.rest(workflow_id);
    expect(toldIn(talk, 1).map(({ output }) => output)).toEqual([{ type: "json", value: null }]);
  });
});

describe("what a model writes as the input of a call is read as strictly as the body of a request", () => {
  it.each([
    [
      "a whole number that JSON readers round",
      '{"order":"A-7","cents":9007199254740993}',
      "beyond what can be kept exactly",
    ],
    ["a number that is out of range", '{"order":"A-7","cents":1e400}', "too large to be kept"],
    ["a member that is named twice", '{"order":"A-7","order":"B-1"}', "names a member twice"],
    ["a member that is named twice in another spelling", '{"order":"A-7","\\u006frder":"B-1"}', "names a member twice"],
    ["a key that is called __proto__", '{"order":"A-7","__proto__":{"cents":1}}', "__proto__"],
    ["half of a surrogate pair", '{"order":"\\ud800"}', "half of a surrogate pair"],
    ["too many levels", `{"order":${"[".repeat(100)}${"]".repeat(100)}}`, "nested too deeply"],
  ])("%s is refused, told to the model, and may be corrected", async (_what, input, why) => {
    const right = { tool: "Shop_Look", input: { order: "A-7" } };
    const talk = talking([wants({ tool: "Shop_Look", input }), wants(right), says("found")]);
    await using t = await talk.opened;
    expect((await begin(t)).state).toMatchObject({ state: "completed", response: { text: "found" } });
    expect(talk.calls).toEqual(["look A-7"]);
    expect(toldIn(talk, 1)[0]?.output).toEqual({ type: "error-text", value: expect.stringContaining(why) });
  });

  it("what makes the tool's own schema throw is told to the model, which is not asked the same again", async () => {
    const input = z.object({ link: z.string().transform((link) => new URL(link).href) });
    const open = defineOperator({ name: "Web.Open", input, run: ({ input: { link } }) => link });
    const call = (link: string) => wants({ tool: "Web_Open", input: { link } });
    const talk = talking([call("no link"), call("https://a.test/"), says("opened")], { tools: [open] });
    await using t = await talk.opened;
    const { state, workflow_id } = await begin(t);
    expect(state).toMatchObject({ state: "completed", response: { text: "opened" } });
    expect(toldIn(talk, 1)[0]?.output).toEqual({ type: "error-text", value: expect.stringContaining("Invalid URL") });
    expect(talk.asked).toHaveLength(3);
    expect((await t.kernel.replay(workflow_id)).identical).toBe(true);
  });

  it("what is told of a call is short, however long the faults or the name of the call are", async () => {
    const sum = defineOperator({ name: "Math.Sum", input: z.object({ all: z.array(z.number()) }), run: () => 0 });
    const bad = { tool: "Math_Sum", input: { all: Array.from({ length: 20_000 }, () => "x") } };
    const talk = talking([wants(bad, { tool: "n".repeat(100_000), input: {} }), says("sorry")], { tools: [sum] });
    await using t = await talk.opened;
    expect((await begin(t)).state.state).toBe("completed");
    for (const { output } of toldIn(talk, 1)) expect(String(output.value).length).toBeLessThan(3_000);
  });

  it("a name and an id that hold half of a surrogate pair do not fail the turn", async () => {
    const talk = talking([wants({ id: "c\ud800", tool: "Shop_\ud800", input: {} }), says("sorry")]);
    await using t = await talk.opened;
    expect((await begin(t)).state).toMatchObject({ state: "completed", response: { text: "sorry" } });
  });
});

describe("a model that wants more than anybody reads", () => {
  const look = (i: number) => ({ id: "c", tool: "Shop_Look", input: { order: `${i}` } });
  it.each([
    ["calls without end", Array.from({ length: 30_000 }, (_, i) => look(i))],
    ["long arguments, in several calls", [1, 2, 3].map(() => ({ tool: "Shop_Look", input: "x".repeat(400_000) }))],
    ["a name without end", [{ tool: "n".repeat(1_000_001), input: {} }]],
    ["an id without end", [{ id: "n".repeat(1_000_001), tool: "Shop_Look", input: {} }]],
  ])("(%s) is refused at once, and nothing of it is called", async (_what, calls) => {
    const talk = talking([wants(...calls)], { kernel: { limits: { maxReplans: 0 } } });
    await using t = await talk.opened;
    const { state } = await begin(t);
    expect(state.error?.detail).toMatchObject({ executor: { code: "MODEL_ANSWER_TOO_LONG" } });
    expect([talk.asked.length, talk.calls]).toEqual([1, []]);
  });
});

describe("calls that share an id", () => {
  it("get distinct ones, within an answer and over the conversation, and each its own result", async () => {
    const look = (id: string, order: string) => ({ id, tool: "Shop_Look", input: { order } });
    const talk = talking([
      wants(look("c", "lost"), look("c", "b"), look("c_2", "d"), look("", "e"), look("", "f")),
      wants(look("c", "g")),
      says("all"),
    ]);
    await using t = await talk.opened;
    await begin(t);
    expect(talk.calls).toEqual(["look lost", "look b", "look d", "look e", "look f", "look g"]);
    const told = toldIn(talk, 2);
    expect(told.map(({ toolCallId }) => toolCallId)).toEqual(["c", "c_2", "c_2_2", "call", "call_2", "c_3"]);
    expect(told.map(({ output }) => output.type)).toEqual(["error-text", "json", "json", "json", "json", "json"]);
    const wanted = talk.asked[2]?.prompt
      .filter(({ role }) => role === "assistant")
      .flatMap(({ content }) => content as { toolCallId?: string }[]);
    expect(wanted?.map(({ toolCallId }) => toolCallId)).toEqual(told.map(({ toolCallId }) => toolCallId));
  });
});
