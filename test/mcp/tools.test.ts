/** What clients are told of tools: names, schemas, hints, and that the list has changed. */
import type { Tool } from "@modelcontextprotocol/client";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { toolNameOf } from "../../src/faces/mcp/index.ts";
import { defineCapability } from "../../src/index.ts";
import { counted, publishing, step, story } from "../gates/story.ts";
import { call, openMcp, told, workflowOf } from "./mcp-fixture.ts";

const name = "Story_Note_Publish";
const part = fc.stringMatching(/^[A-Za-z][A-Za-z0-9]{0,40}$/);
const intentTypes = fc.array(part, { minLength: 2, maxLength: 5 }).map((parts) => parts.join("."));
const fixed = ["submit-intent", "list-workflows", "read-workflow", "read-outcomes", "explain-workflow"];
const deciding = [
  "list-items",
  "list-gates",
  "decide-gate",
  "decide-gates",
  "emit-event",
  "read-token-url",
  "retry-workflow",
  "fork-workflow",
  "add-input",
  "note-at-gate",
  "cancel-workflow",
  "rollback-workflow",
  "pause-workflow",
  "resume-workflow",
  "set-halt",
  "lift-halt",
  "list-halts",
  "give-grant",
  "revoke-grant",
  "list-grants",
  "name-stand-in",
  "end-stand-in",
  "list-stand-ins",
  "list-decisions",
];
const scheduling = [
  ...["list-queues", "set-queue-limits", "list-budgets"],
  ...["list-schedules", "read-schedule", "set-schedule", "pause-schedule", "resume-schedule"],
  ...["trigger-schedule", "backfill-schedule", "delete-schedule"],
];

describe("a tool's name", () => {
  it("is one that clients accept, for every intent type, and no two share one", () => {
    const seen = new Map<string, string>();
    fc.assert(
      fc.property(intentTypes, (intentType) => {
        const made = toolNameOf(intentType);
        expect(made).toMatch(/^[A-Za-z][A-Za-z0-9_-]{0,63}$/);
        expect([...fixed, ...deciding, ...scheduling]).not.toContain(made);
        expect(seen.get(made) ?? intentType).toBe(intentType);
        seen.set(made, intentType);
      }),
    );
    const long = (end: string) => toolNameOf(`${"Very".repeat(30)}.${end}`);
    expect(long("One")).not.toBe(long("Two"));
    expect(toolNameOf("Repo.ReleaseNotes.Draft")).toBe("Repo_ReleaseNotes_Draft");
  });
});

/** The tool of a story whose operators have these effects. */
async function hintsOf(...operators: readonly ReturnType<typeof counted>[]) {
  const capability = story(operators, [step("only", operators[0] as ReturnType<typeof counted>)]);
  await using face = await openMcp({ capabilities: [capability] });
  const { tools } = await (await face.connect()).listTools();
  return tools.find((tool) => tool.name === name)?.annotations;
}

describe("what a tool says of itself", () => {
  it.each<readonly [Parameters<typeof counted>[1], object]>([
    [{ effect: "read" }, { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false }],
    [{ effect: "write_draft" }, { readOnlyHint: false, destructiveHint: false, idempotentHint: false }],
    [
      { effect: "final_write", idempotent: true },
      { readOnlyHint: false, destructiveHint: true, idempotentHint: true },
    ],
    [{ effect: "external_send" }, { readOnlyHint: false, destructiveHint: true, openWorldHint: true }],
  ])("are the effects of its operators: %o", async (more, hints) => {
    expect(await hintsOf(counted("Note.One", more))).toMatchObject(hints);
  });

  it("is what its strongest operator does", async () => {
    const hints = await hintsOf(
      counted("Note.Read", { effect: "read" }),
      counted("Note.Write", { effect: "final_write" }),
    );
    expect(hints).toMatchObject({ readOnlyHint: false, destructiveHint: true });
  });

  it("omits inputs whose schema has no form in JSON; the other tools are still listed", async () => {
    const work = counted("Note.Work");
    const same = (): z.ZodString => z.string().meta({ id: "McpToolsTest" });
    const input = z.object({ one: same(), two: same() });
    await using face = await openMcp({ capabilities: [story([work], [step("only", work)], { input })] });
    const client = await face.connect();
    const { tools } = await client.listTools();
    expect(tools.find((one) => one.name === name)?.inputSchema).toEqual({ type: "object" });
    expect(tools).toHaveLength(fixed.length + deciding.length + scheduling.length + 1);
    expect((await call(client, name, { one: 1 })).isError).toBe(true);
    expect(workflowOf(await call(client, name, { one: "a", two: "b" })).state).toBe("completed");
  });

  it("is a choice where its schema is one, below a root that is an object", async () => {
    const work = counted("Note.Work");
    const input = z.union([z.object({ one: z.string() }), z.object({ two: z.int() })]);
    await using face = await openMcp({ capabilities: [story([work], [step("only", work)], { input })] });
    const client = await face.connect();
    const tool = (await client.listTools()).tools.find((one) => one.name === name);
    expect(tool?.inputSchema).toMatchObject({ type: "object", anyOf: [{ required: ["one"] }, { required: ["two"] }] });
    expect(workflowOf(await call(client, name, { two: 2 })).state).toBe("completed");
    expect((await call(client, name, { two: "2" })).isError).toBe(true);
  });

  it("is its input schema, a description, an output schema, and that it may be a task", async () => {
    const { capability } = publishing({}, { input: z.object({ to: z.string().max(9) }) });
    await using face = await openMcp({ capabilities: [capability] });
    const { tools } = await (await face.connect()).listTools();
    const tool = tools.find((one) => one.name === name) as Tool;
    expect(tool.inputSchema).toMatchObject({
      type: "object",
      properties: { to: { type: "string", maxLength: 9 } },
      required: ["to"],
    });
    expect(tool).toMatchObject({ execution: { taskSupport: "optional" }, outputSchema: { type: "object" } });
    expect(tools.map((one) => one.name)).toEqual([...fixed, ...deciding, ...scheduling, name]);
    for (const { title, description, outputSchema } of tools) {
      expect([title, description].every((text) => (text ?? "").length > 3)).toBe(true);
      expect(outputSchema?.["anyOf"]).toContainEqual({ required: ["error"] });
    }
  });
});

describe("the list of tools", () => {
  it("comes in pages", async () => {
    await using face = await openMcp({}, { limits: { maxPage: 4 } });
    const client = await face.connect();
    const names: string[] = [];
    let cursor: string | undefined;
    do {
      const page = await client.request({ method: "tools/list", params: cursor === undefined ? {} : { cursor } });
      expect(page.tools.length).toBeLessThanOrEqual(4);
      names.push(...page.tools.map((tool) => tool.name));
      cursor = page.nextCursor;
    } while (cursor !== undefined);
    expect(names).toEqual([...fixed, ...deciding, ...scheduling]);
  });

  it("that a capability was added to is told to clients who know the old one", async () => {
    await using face = await openMcp();
    const changed = Promise.withResolvers<readonly string[]>();
    const client = await face.connect("own", {
      listChanged: {
        tools: { debounceMs: 0, onChanged: (_error, tools) => changed.resolve((tools ?? []).map((tool) => tool.name)) },
      },
    });
    await client.listTools();
    face.t.kernel.registerCapability(publishing().capability);
    await call(client, "list-gates");
    expect(await changed.promise).toContain(name);
  });

  it("has one tool for an intent type, whose newest version runs", async () => {
    const work = counted("Note.Work");
    const versions = ["1.0", "1.1"].map((version) =>
      defineCapability({
        intentType: "Story.Note.Publish",
        version,
        input: z.object({}),
        operators: [work.operator],
        plan: { reasoning: version, steps: [step("only", work)] },
      }),
    );
    await using face = await openMcp({ capabilities: versions });
    const { tools } = await (await face.connect()).listTools();
    expect(tools.filter((tool) => tool.name === name).map(({ title }) => title)).toEqual(["Story.Note.Publish 1.1"]);
  });
});

describe("submit-intent", () => {
  it("has the work begin later", async () => {
    const { capability } = publishing();
    await using face = await openMcp({ capabilities: [capability] });
    const later = { intent_type: "Story.Note.Publish", inputs: {}, delay_ms: 60_000 };
    const client = await face.connect();
    const { workflow_id } = await told<{ workflow_id: string }>(client, "submit-intent", later);
    const start_at = new Date(face.t.clock.now() + 60_000).toISOString();
    await face.t.clock.settle();
    expect(await face.t.kernel.workflow(workflow_id)).toMatchObject({ state: "accepted", start_at });
  });
});
