/** MCP over a pair of streams, by hand: what a client of 2026-07-28 listens to. */
import { once } from "node:events";
import { createInterface } from "node:readline";
import { PassThrough } from "node:stream";
import { describe, expect, it } from "vitest";
import { serveMcpStdio } from "../../src/faces/mcp/index.ts";
import { createTestKernel, testCaller } from "../../src/testing/index.ts";
import { intent, publishing } from "../gates/story.ts";

const _meta = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientInfo": { name: "raw", version: "1" },
  "io.modelcontextprotocol/clientCapabilities": {},
};

interface Line {
  readonly id?: number;
  readonly method?: string;
  readonly params?: { readonly uri?: string };
}

describe("a connection over stdio", () => {
  it.each<readonly [string, (input: PassThrough, output: PassThrough) => unknown]>([
    ["at a message beyond the limit", (input) => input.write("x".repeat(2_000))],
    ["when nobody reads its output", (_input, output) => output.destroy(new Error("EPIPE"))],
    ["when its input does", (input) => input.end()],
  ])("ends %s, and says so", async (_when, end) => {
    await using t = await createTestKernel();
    const [input, output] = [new PassThrough(), new PassThrough()];
    const limits = { maxBodyBytes: 1_000 };
    const connection = serveMcpStdio(t.kernel, { caller: testCaller, input, output, limits });
    end(input, output);
    await connection.ended;
    await connection.close();
  });

  it("tells who listens of the workflows they may read, and follows none once it has ended", async () => {
    await using t = await createTestKernel({ capabilities: [publishing().capability] });
    const own = (await t.run(intent)).workflow_id;
    const foreign = await t.submit(intent, {}, { tenant_id: 2 });
    await t.rest(foreign);
    const { listeners } = t.kernel.vitals();
    const [input, output] = [new PassThrough(), new PassThrough()];
    const connection = serveMcpStdio(t.kernel, { caller: testCaller, input, output });
    const lines: Line[] = [];
    const reader = createInterface({ input: output }).on("line", (line) => lines.push(JSON.parse(line) as Line));
    const until = async (test: (line: Line) => boolean): Promise<void> => {
      while (!lines.some(test)) await once(reader, "line");
    };
    const resourceSubscriptions = [own, foreign].map((id) => `countersign://workflows/${id}`);
    const params = { notifications: { resourceSubscriptions }, _meta };
    input.write(`${JSON.stringify({ jsonrpc: "2.0", id: 1, method: "subscriptions/listen", params })}\n`);
    await until(({ method }) => method === "notifications/subscriptions/acknowledged");
    await t.clock.settle();
    expect(t.kernel.vitals().listeners).toBe(listeners + 1);
    await t.kernel.cancel(foreign, { ...testCaller, tenant_id: 2 });
    await t.approve(own);
    await until(({ method }) => method === "notifications/resources/updated");
    const told = lines.filter(({ method }) => method === "notifications/resources/updated");
    expect(new Set(told.map((line) => line.params?.uri))).toEqual(new Set([resourceSubscriptions[0]]));
    input.end();
    await connection.ended;
    await connection.close();
    await t.clock.settle();
    expect(t.kernel.vitals().listeners).toBe(listeners);
  });

  it.each([
    ["a batch", [{ jsonrpc: "2.0", id: 1, method: "ping" }], "Invalid input"],
    ["an id that is null", { jsonrpc: "2.0", id: null, method: "ping" }, 'Unrecognized key: "id"'],
  ])("passes over %s, and tells why on a line", async (_what, message, why) => {
    await using t = await createTestKernel();
    const told: unknown[] = [];
    const silent = () => undefined;
    const logger = { debug: silent, info: silent, error: silent, warn: (detail: object) => void told.push(detail) };
    const [input, output] = [new PassThrough(), new PassThrough()];
    const connection = serveMcpStdio(t.kernel, { caller: testCaller, input, output, logger });
    input.end(`${JSON.stringify(message)}\n`);
    await connection.ended;
    await connection.close();
    expect(told).toEqual([{ error: `a message that is no single one of JSON-RPC 2.0 was passed over (${why})` }]);
  });
});
