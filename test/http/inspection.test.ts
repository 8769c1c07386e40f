/** The inspector's feed over HTTP: what a player tells, resumable, for who may read, of their own tenant. */
import { describe, expect, it } from "vitest";
import { Inspection } from "../../src/contract/inspection.ts";
import { playEvents } from "../../src/observers/inspect/index.ts";
import { letRun } from "../../src/testing/index.ts";
import { eventsOf, intent, publishing } from "../gates/story.ts";
import { codeOf, openEdge } from "./edge-fixture.ts";
import { follow, messagesIn, readMessages } from "./sse-reader.ts";

const feedOf = (id: string, more = ""): string => `/v1/kernel/stream/inspect?workflow_id=${id}${more}`;

describe("the inspector's feed", () => {
  it("of a workflow is what a player of its ledger tells, from a person's wait on live, and ends with it", async () => {
    await using edge = await openEdge({ capabilities: [publishing().capability] });
    const { workflow_id: id } = await edge.t.run(intent);
    const open = follow(await edge.fetch(feedOf(id)));
    await letRun();
    expect(open.text()).toContain("waiting_for_user");
    await edge.t.approve(id, "gate-publish");
    await edge.t.rest(id);
    await letRun();
    const played = await Array.fromAsync(playEvents(await eventsOf(edge.t, id)));
    const messages = messagesIn(open.text());
    expect(messages.map(({ data }) => Inspection.parse(data))).toEqual(played);
    expect(new Set(messages.map(({ event }) => event))).toEqual(new Set(["kernel.inspection"]));
    expect(open.isClosed()).toBe(true);
  });

  it("goes on after the last event that was told whole, and is over after the last one", async () => {
    await using edge = await openEdge({ capabilities: [publishing().capability] });
    const { workflow_id: id } = await edge.t.run(intent);
    await edge.t.approve(id, "gate-publish");
    await edge.t.rest(id);
    const all = await readMessages(await edge.fetch(feedOf(id)));
    const numbered = all.filter(({ lines }) => lines.includes("id"));
    expect(numbered.length).toBeGreaterThan(10);
    for (const { id: last } of numbered.slice(0, -1)) {
      const rest = await readMessages(await edge.fetch(feedOf(id), { headers: { "last-event-id": String(last) } }));
      const seen = all.findIndex((message) => message.lines.includes("id") && message.id === last);
      expect(rest.map(({ data }) => data)).toEqual(all.slice(seen + 1).map(({ data }) => data));
    }
    expect((await edge.fetch(feedOf(id, `&after=${numbered.at(-1)?.id}`))).status).toBe(204);
  });

  it("without a workflow tells all of the tenant that have not ended, and what begins", async () => {
    await using edge = await openEdge({ capabilities: [publishing().capability] });
    const waiting = (await edge.t.run(intent)).workflow_id;
    const foreign = (await edge.t.run(intent, {}, { tenant_id: 2 })).workflow_id;
    const open = follow(await edge.fetch("/v1/kernel/stream/inspect"));
    await letRun();
    const begun = (await edge.t.run(intent)).workflow_id;
    await letRun();
    const text = open.text();
    expect([waiting, begun, foreign].map((id) => text.includes(id))).toEqual([true, true, false]);
    await open.stop();
    await letRun();
    expect(edge.t.kernel.vitals().listeners).toBe(1);
  });

  it("says before it streams that there is no such workflow, and what cannot be read", async () => {
    await using edge = await openEdge({ capabilities: [publishing().capability] });
    const missing = await edge.ask(feedOf("wf_01KDVDNA0047C4FEZDQK8YZZZZ"));
    expect([missing.status, codeOf(missing)]).toEqual([404, "T4_WORKFLOW_NOT_FOUND"]);
    for (const query of ["x", "wf_x&workflow_id=wf_y", "&speed=10"]) {
      const told = await edge.ask(feedOf(query));
      expect([query, told.status, codeOf(told)]).toEqual([query, 400, "T0_VALIDATION_SCHEMA_MISMATCH"]);
    }
  });
});
