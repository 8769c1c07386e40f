/** Connections that break at a bad moment: nothing is lost, nothing hangs, and nobody else notices. */
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { expect, it, onTestFinished } from "vitest";
import { resultWith } from "../../src/protocol/relayed-message.ts";
import { allowing } from "./allowing.ts";
import { call, openGuard, textOf } from "./guard-fixture.ts";

interface Asked {
  readonly id?: number | string;
  readonly method: string;
  readonly params?: { readonly arguments?: { readonly hangs?: boolean }; readonly protocolVersion?: string };
}

/** A server over HTTP that answers no call which says so, not even with headers. */
async function openSilent() {
  const hung = Promise.withResolvers<void>();
  const answers: Readonly<Record<string, (asked: Asked) => object>> = {
    initialize: ({ params }) => ({
      protocolVersion: params?.protocolVersion,
      capabilities: { tools: {} },
      serverInfo: { name: "silent", version: "1" },
    }),
    "tools/list": () => ({ tools: [{ name: "act", inputSchema: { type: "object" } }] }),
    "tools/call": () => ({ content: [{ type: "text", text: "called" }] }),
  };
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    if (request.method !== "POST") return void response.writeHead(405).end();
    const asked = JSON.parse(await text(request)) as Asked;
    if (asked.id === undefined) return void response.writeHead(202).end();
    if (asked.params?.arguments?.hangs === true) return hung.resolve();
    const result = answers[asked.method]?.(asked) ?? {};
    response.writeHead(200, { "content-type": "application/json" });
    response.end(JSON.stringify(resultWith(asked.id, result)));
  };
  const server = createServer((request, response) => void answer(request, response));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { place: { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp` }, hung: hung.promise };
}

it("ends a session whose call its server has not answered, and goes on for others", async () => {
  const { place, hung } = await openSilent();
  const unhandled: unknown[] = [];
  const note = (thrown: unknown): void => void unhandled.push(thrown);
  process.on("unhandledRejection", note);
  onTestFinished(() => void process.off("unhandledRejection", note));
  await using g = await openGuard(place, {}, { policies: [allowing()] });
  const [leaving, staying] = [await g.connect(), await g.connect()];
  const left = call(leaving, "act", { hangs: true }).catch((thrown: unknown) => thrown);
  await hung;
  await (leaving.transport as unknown as { terminateSession: () => Promise<void> }).terminateSession();
  await leaving.close();
  await left;
  expect(textOf(await call(staying, "act"))).toBe("called");
  expect(unhandled).toEqual([]);
});
