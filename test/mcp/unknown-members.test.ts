/** Unknown members over MCP: of a tool's arguments, of our own metadata, and of a form's answer. */
import { describe, expect, it } from "vitest";
import { intent, publishing } from "../gates/story.ts";
import { openMcp } from "./mcp-fixture.ts";

const publish = () => ({ capabilities: [publishing().capability] });
const unknown = "no_such_member";
interface Refused {
  readonly isError?: boolean;
  readonly structuredContent?: { readonly error?: { readonly code: string; readonly message: string } };
}

describe("a member that nobody knows", () => {
  it("is refused in the arguments of each of the kernel's own tools, whose schemas are closed", async () => {
    await using face = await openMcp(publish());
    const client = await face.connect("admin");
    const { tools } = await client.listTools();
    const own = tools.filter(({ name }) => name.includes("-"));
    expect(own.length).toBeGreaterThan(7);
    for (const { name, inputSchema } of own) {
      expect([name, inputSchema["additionalProperties"]]).toEqual([name, false]);
      const told = (await client.callTool({ name, arguments: { [unknown]: 1 } })) as Refused;
      const { error } = told.structuredContent ?? {};
      expect([name, told.isError, error?.code]).toEqual([name, true, "T0_VALIDATION_SCHEMA_MISMATCH"]);
      expect(error?.message).toContain(`${unknown}: there is no such key`);
    }
  });

  it("is refused in `_meta` under our prefix, and passed over under any other, as MCP has it", async () => {
    await using face = await openMcp(publish());
    const client = await face.connect();
    const call = async (meta: Readonly<Record<string, unknown>>) =>
      (await client.callTool({ name: "submit-intent", arguments: { intent_type: intent }, _meta: meta })) as Refused;
    for (const [meta, said] of [
      [{ "countersign/idempotencyKey": "k" }, 'did you mean "countersign/idempotency-key"?'],
      [{ "countersign/until": "rest" }, "countersign/until"],
      [{ "countersign/idempotency-key": "" }, "countersign/idempotency-key"],
    ] as const) {
      const { isError, structuredContent } = await call(meta);
      expect([isError, structuredContent?.error?.code]).toEqual([true, "T0_VALIDATION_SCHEMA_MISMATCH"]);
      expect(structuredContent?.error?.message).toContain(said);
    }
    expect(await face.t.kernel.workflows()).toEqual([]);
    expect((await call({ "example.org/anything": 1 })).isError).not.toBe(true);
  });

  it("is refused in the answer to a form, and nothing is decided", async () => {
    await using face = await openMcp(publish());
    const client = await face.connect("own", {
      person: () => ({ action: "accept", content: { decision: "approve", edits: "{}" } }),
    });
    const { tools } = await client.listTools();
    const tool = tools.find(({ name }) => name === intent.replaceAll(".", "_"));
    const told = (await client.callTool({ name: tool?.name ?? "", arguments: {} })) as Refused;
    expect(told.structuredContent?.error?.message).toContain('edits: there is no such key; did you mean "edit"?');
    expect((await face.t.kernel.gates()).map(({ status }) => status)).toEqual(["open"]);
  });
});
