/** A call whose submit waits for a place leaves the queue when its client cancels it, in both eras of the protocol. */
import type { Client, ClientOptions } from "@modelcontextprotocol/client";
import { describe, expect, it } from "vitest";
import { counted, held, intent, step, story } from "../gates/story.ts";
import { openMcp, workflowOf } from "./mcp-fixture.ts";

const modern: ClientOptions = { versionNegotiation: { mode: { pin: "2026-07-28" } } };
const eras: readonly (readonly [string, ClientOptions])[] = [
  ["2025-11-25", {}],
  ["2026-07-28", modern],
];
const tools = [
  ["Story_Note_Publish", {}],
  ["submit-intent", { intent_type: intent, inputs: {} }],
] as const;

describe.each(eras)("a call that waits for a place, spoken to as %s", (_, era) => {
  it.each(tools)("leaves the queue when its client cancels it, and begins nothing: %s", async (name, args) => {
    const busy = held<object>();
    const slow = counted("Note.Slow", {}, () => busy.promise);
    await using face = await openMcp({
      capabilities: [story([slow], [step("slow", slow)])],
      limits: { maxInFlight: 1 },
    });
    const { t } = face;
    await t.submit(intent);
    await t.clock.settle();
    const client: Client = await face.connect("own", era);
    const waiting = async (count: number) => {
      while (t.kernel.vitals().submits !== count) await new Promise<void>((resolve) => setImmediate(resolve));
    };
    const before = (await t.kernel.verify()).checked;
    const gone = new AbortController();
    const asked = client.callTool({ name, arguments: args }, { signal: gone.signal });
    await waiting(1);
    gone.abort();
    await expect(asked).rejects.toThrow();
    await waiting(0);
    expect((await t.kernel.verify()).checked).toBe(before);
    const next = client.callTool({ name: "submit-intent", arguments: tools[1][1] });
    await waiting(1);
    busy.release({});
    expect(workflowOf((await next) as Parameters<typeof workflowOf>[0]).workflow_id).toMatch(/^wf_/);
    expect(await t.kernel.workflows()).toHaveLength(2);
  });
});
