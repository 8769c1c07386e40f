/** Events over MCP: the tool that sends them, and who has it. */
import { describe, expect, it } from "vitest";
import type { StaticToken } from "../../src/faces/http/index.ts";
import type { EmitResponse } from "../../src/index.ts";
import { closing, signed as event } from "../lifecycle/closing-deal.ts";
import { call, openMcp, told } from "./mcp-fixture.ts";

const without: StaticToken = {
  token: "submits",
  tenant_id: 1,
  principal: { type: "user", id: 1, role: "user" },
  scopes: ["intent:submit", "outcome:read"],
};

describe("emit-event", () => {
  it("ends the wait of a step, and the same event again gets the same answer", async () => {
    await using face = await openMcp({ capabilities: [closing] });
    const client = await face.connect();
    const { workflow_id } = await told<{ workflow_id: string }>(client, "submit-intent", { intent_type: "Deal.Close" });
    await face.t.clock.settle();
    expect((await face.t.kernel.workflow(workflow_id)).state).toBe("waiting");
    const first = await told<EmitResponse>(client, "emit-event", event);
    expect(first).toMatchObject({ status: "resumed", resumed: [{ workflow_id, step_id: "sign" }], duplicate: false });
    expect((await face.t.rest(workflow_id)).state).toBe("completed");
    expect(await told<EmitResponse>(client, "emit-event", event)).toEqual({ ...first, duplicate: true });
    const other = await call(client, "emit-event", { ...event, payload: null });
    expect(other).toMatchObject({ isError: true, structuredContent: { error: { code: "T4_EVENT_ID_REUSED" } } });
  });

  it("is there only for callers who may send events", async () => {
    await using face = await openMcp({}, {}, [without]);
    for (const [as, has] of [
      ["own", true],
      ["admin", true],
      ["submits", false],
      ["stranger", false],
    ] as const) {
      const client = await face.connect(as);
      const names = (await client.listTools()).tools.map(({ name }) => name);
      expect([as, names.includes("emit-event")]).toEqual([as, has]);
      if (!has) await expect(client.callTool({ name: "emit-event", arguments: event })).rejects.toThrow("emit-event");
    }
    expect(await face.t.kernel.emit({ tenant_id: 1, principal: without.principal, ...event })).toMatchObject({
      duplicate: false,
    });
  });

  it("refuses members that an event does not have", async () => {
    await using face = await openMcp();
    expect((await call(await face.connect(), "emit-event", { ...event, tenant_id: 2 })).isError).toBe(true);
  });
});
