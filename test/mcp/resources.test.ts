/** Workflows as resources: reading, pages, completion, and being told of changes. */
import type { Client } from "@modelcontextprotocol/client";
import { describe, expect, it } from "vitest";
import { publishing } from "../gates/story.ts";
import { call, openMcp, workflowOf } from "./mcp-fixture.ts";

const name = "Story_Note_Publish";
const uriOf = (id: string, view = ""): string => `countersign://workflows/${id}${view}`;

async function read<T = Readonly<Record<string, unknown>>>(client: Client, uri: string): Promise<T> {
  const { contents } = await client.readResource({ uri });
  return JSON.parse((contents[0] as { readonly text: string }).text) as T;
}

describe("a workflow as a resource", () => {
  it("tells its state, events, outcomes and explanation, each as the kernel has it", async () => {
    const { capability } = publishing();
    await using face = await openMcp({ capabilities: [capability] });
    const client = await face.connect();
    const { workflow_id: id } = workflowOf(await call(client, name));
    const { kernel } = face.t;
    expect(await read(client, uriOf(id))).toMatchObject({ workflow_id: id, state: "waiting_for_user" });
    expect(await read(client, uriOf(id, "/outcomes"))).toEqual(JSON.parse(JSON.stringify(await kernel.outcomes(id))));
    expect(await read(client, uriOf(id, "/explain"))).toEqual(JSON.parse(JSON.stringify(await kernel.explain(id))));
    const { events } = await read<{ events: { event_type: string }[] }>(client, uriOf(id, "/events"));
    expect(events.map((event) => event.event_type)).toEqual(await face.t.types(id));
  });

  it("has its events in pages", async () => {
    const { capability } = publishing();
    await using face = await openMcp({ capabilities: [capability] }, { limits: { maxPage: 5 } });
    const client = await face.connect();
    const { workflow_id: id } = workflowOf(await call(client, name));
    const seen: number[] = [];
    for (let next: number | null = 0; next !== null; ) {
      const uri: string = uriOf(id, `/events?after=${next}`);
      const page: { events: { sequence: number }[]; next: number | null } = await read(client, uri);
      expect(page.events.length).toBeLessThanOrEqual(5);
      seen.push(...page.events.map(({ sequence }) => sequence));
      next = page.next;
    }
    expect(seen).toEqual((await face.t.types(id)).map((_, i) => i + 1));
  });

  it("is listed in pages, newest first, and its id can be completed", async () => {
    const { capability } = publishing();
    await using face = await openMcp({ capabilities: [capability] }, { limits: { maxPage: 2 } });
    const client = await face.connect();
    const ids: string[] = [];
    for (let i = 0; i < 3; i += 1) ids.push(workflowOf(await call(client, name)).workflow_id);
    const first = await client.request({ method: "resources/list", params: {} });
    const cursor = first.nextCursor ?? "";
    const second = await client.request({ method: "resources/list", params: { cursor } });
    expect([...first.resources, ...second.resources].map(({ uri }) => uri)).toEqual(
      ids.toReversed().map((id) => uriOf(id)),
    );
    expect(second.nextCursor).toBeUndefined();
    const ref = { type: "ref/resource", uri: "countersign://workflows/{id}" } as const;
    const [, , third = ""] = ids;
    const complete = async (value: string, argument = "id") =>
      (await client.complete({ ref, argument: { name: argument, value } })).completion.values;
    expect(await complete(third.slice(0, -1))).toEqual([third]);
    expect(await complete("wf_Z")).toEqual([]);
    expect(await complete("", "after")).toEqual([]);
    const { resourceTemplates } = await client.listResourceTemplates();
    expect(resourceTemplates.map(({ uriTemplate }) => uriTemplate)).toContain(ref.uri);
  });
});

describe("being told of changes", () => {
  it("of a workflow that is watched, until it is no longer", async () => {
    const { capability } = publishing();
    await using face = await openMcp({ capabilities: [capability] });
    const client = await face.connect();
    const { workflow_id: id } = workflowOf(await call(client, name));
    const { listeners } = face.t.kernel.vitals();
    const told: string[] = [];
    const first = Promise.withResolvers<void>();
    client.setNotificationHandler("notifications/resources/updated", ({ params }) => {
      told.push(params.uri);
      first.resolve();
    });
    await client.subscribeResource({ uri: uriOf(id) });
    await client.subscribeResource({ uri: uriOf(id) });
    expect(face.t.kernel.vitals().listeners).toBe(listeners + 1);
    await face.t.approve(id);
    await first.promise;
    await face.t.rest(id);
    expect(new Set(told)).toEqual(new Set([uriOf(id)]));
    await client.unsubscribeResource({ uri: uriOf(id) });
    expect(face.t.kernel.vitals().listeners).toBe(listeners);
  });

  it("has a limit, and says so", async () => {
    const { capability } = publishing();
    await using face = await openMcp({ capabilities: [capability] }, { limits: { maxSubscriptions: 1 } });
    const client = await face.connect();
    const { workflow_id: id } = workflowOf(await call(client, name));
    await client.subscribeResource({ uri: uriOf(id) });
    await expect(client.subscribeResource({ uri: uriOf(id, "/events") })).rejects.toMatchObject({
      data: { kernel: { code: "T0_HTTP_STREAM_LIMIT" }, maxSubscriptions: 1 },
    });
  });

  it("over streams of 2026-07-28 has a limit for each principal, so that others find a place", async () => {
    const { capability } = publishing();
    await using face = await openMcp({ capabilities: [capability] }, { limits: { maxStreamsPerCaller: 1 } });
    const { workflow_id: id } = workflowOf(await call(await face.connect(), name));
    const modern = { versionNegotiation: { mode: { pin: "2026-07-28" } } } as const;
    const listen = async (as: string) =>
      (await face.connect(as, modern)).listen({ resourceSubscriptions: [uriOf(id)] });
    await listen("own");
    await expect(listen("own")).rejects.toThrow();
    await listen("admin");
    expect(face.mcp.vitals().streams).toBe(2);
  });

  it("over a stream of 2026-07-28, which tells of one's own tenant only and leaves nothing behind", async () => {
    const { capability } = publishing();
    await using face = await openMcp({ capabilities: [capability] });
    const { workflow_id: id } = workflowOf(await call(await face.connect(), name));
    const { listeners } = face.t.kernel.vitals();
    const modern = { versionNegotiation: { mode: { pin: "2026-07-28" } } } as const;
    const client = await face.connect("own", modern);
    const told = Promise.withResolvers<string>();
    client.setNotificationHandler("notifications/resources/updated", ({ params }) => told.resolve(params.uri));
    const stream = await client.listen({ resourceSubscriptions: [uriOf(id)] });
    expect([face.mcp.vitals().streams, face.t.kernel.vitals().listeners]).toEqual([1, listeners + 1]);
    const foreign = await face.connect("foreign", modern);
    await expect(foreign.listen({ resourceSubscriptions: [uriOf(id)] })).rejects.toThrow();
    await face.t.approve(id);
    expect(await told.promise).toBe(uriOf(id));
    await stream.close();
    await face.t.rest(id);
    expect([face.mcp.vitals().streams, face.t.kernel.vitals().listeners]).toEqual([0, listeners]);
  });
});
