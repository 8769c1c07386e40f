/** Over HTTP and JSON-RPC a decision says what it decides, and gets the same answer for as long as the ledger lasts. */
import { describe, expect, it } from "vitest";
import { sqliteLedger } from "../../src/ledger/sqlite/index.ts";
import { gatedSteps, gateOf, intent } from "../gates/story.ts";
import { ledgerPaths } from "../recovery/shared-file.ts";
import { codeOf, type EdgeUnderTest, openEdge, pathOf } from "./edge-fixture.ts";

const newPath = ledgerPaths();
const until = "2030-01-31T12:00:00.000Z";

/** Two gates, one after the other. */
const story = () => {
  const made = gatedSteps(2);
  const { steps } = made.capability.plan as { readonly steps: readonly object[] };
  const [first, second] = steps;
  const plan = { reasoning: "one by one", steps: [first, { ...second, depends_on: ["s1"] }] };
  return { ...made, capability: { ...made.capability, plan } as typeof made.capability };
};

const rpc = (edge: EdgeUnderTest, method: string, params: object) =>
  edge.post<{ readonly error?: { readonly data?: object } }>("/rpc", {
    jsonrpc: "2.0",
    id: 1,
    method,
    params,
  });

describe("what names no gate", () => {
  it.each([
    ["gate", { decision: "approve" }],
    ["gate", { decision: "approve", payload: { comment: "fine" } }],
    ["withdraw", {}],
    ["delegate", { to: { id: "bo" }, expires_at: until }],
  ])("[API-02] is refused at /%s and by its method, though one gate is open: %j", async (command, body) => {
    const { capability, sent } = story();
    await using edge = await openEdge({ capabilities: [capability] });
    const { workflow_id } = await edge.t.run(intent);
    const told = await edge.post(pathOf(workflow_id, `/${command}`), body);
    expect([told.status, codeOf(told)]).toEqual([400, "T5_GATE_UNNAMED"]);
    const answer = await rpc(edge, `kernel/${command}`, { workflow_id, ...body });
    expect(answer.body.error).toMatchObject({ code: -32602, data: { kernel: { code: "T5_GATE_UNNAMED" } } });
    expect((await gateOf(edge.t, workflow_id, "gate-s1")).status).toBe("open");
    expect(sent()).toEqual([]);
  });
});

describe("a decision that comes again", () => {
  const names = [
    ["its gate", async () => ({ gate_id: "gate-s1" })],
    [
      "what the gate showed",
      async (edge: EdgeUnderTest, id: string) => {
        const { payload_digest } = await gateOf(edge.t, id, "gate-s1");
        return { payload: { payload_digest } };
      },
    ],
  ] as const;

  it.each(names.flatMap(([what, named]) => [["k-1", what, named] as const, [undefined, what, named] as const]))(
    "[GAT-03] over a restart, under key %s, by %s gets the first answer and reaches no other gate",
    async (key, _what, named) => {
      const path = newPath();
      const { capability, sent } = story();
      const open = () => openEdge({ capabilities: [capability], ledger: sqliteLedger({ path }) });
      const headers: Record<string, string> = key === undefined ? {} : { "idempotency-key": key };
      let first: object;
      let id: string;
      let body: object;
      {
        await using edge = await open();
        id = (await edge.t.run(intent)).workflow_id;
        body = { decision: "approve", ...(await named(edge, id)) };
        first = (await edge.ask(pathOf(id, "/gate"), { body, headers })).body;
        await edge.t.rest(id);
      }
      await using edge = await open();
      const again = await edge.ask(pathOf(id, "/gate"), { body, headers });
      expect([again.status, again.body]).toEqual([200, first]);
      await edge.t.clock.settle();
      expect((await gateOf(edge.t, id, "gate-s2")).status).toBe("open");
      expect(sent()).toEqual(["s1"]);
    },
  );
});
