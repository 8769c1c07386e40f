/**
 * The bridges are the one place of each translation: the rooms at the edges call them, and nobody spells a wire
 * himself.
 */
import { describe, expect, it } from "vitest";
import * as face from "../../src/index.ts";
import { importsOf, sourcesIn } from "../tidy/source-files.ts";

const exported = new Map<string, unknown>(Object.entries(face));
const sources = sourcesIn("src");
const outside = sources.filter(({ path }) => !/^src\/(protocol|contract)\//.test(path));

/** Each row of the mapping tables, and a room that must run it. */
const rows = [
  ["signalToToolCall", "signal-to-tool-call", "src/tiers/t0-foundation/"],
  ["toolResultToSignal", "tool-result-to-signal", "src/tiers/t0-foundation/"],
  ["signalToNotification", "signal-to-notification", "src/tiers/t6-metacognition/"],
  ["httpRequestToSignal", "http-request-to-signal", "src/faces/http/"],
  ["resultToHttpResponse", "result-to-http-response", "src/faces/http/"],
  ["errorToProblemDetails", "error-to-problem-details", "src/faces/http/"],
  ["errorToJsonrpcError", "error-to-jsonrpc-error", "src/faces/http/"],
] as const;

const legacy = [
  "toolOutputToSignals",
  "nodeOutputToResult",
  "dataPayloadToBody",
  "fileReferenceToBody",
  "toLogView",
  "jsonrpcRequestToSignal",
  "signalToJsonrpcRequest",
] as const;

describe("the bridges", () => {
  it.each(rows)("[BRG-02] %s is run by the room that speaks to that outside", (name, file, room) => {
    const users = sources.filter(({ path, text }) => path.startsWith(room) && new RegExp(`\\b${name}\\(`).test(text));
    const from = users.flatMap(importsOf).filter((edge) => edge.file === `src/protocol/${file}.ts`);
    expect(from.length).toBeGreaterThan(0);
  });

  it.each([...rows.map(([name]) => name), ...legacy])("[BRG-16] %s is there for hosts", (name) => {
    expect(typeof exported.get(name)).toBe("function");
  });

  it.each([
    ["a problem's type", /urn:kernel:error/],
    ["a JSON-RPC message", /\bjsonrpc["']?\s*:/],
    ["the method of a notification", /kernel\/signal\//],
    ["a JSON-RPC code of the kernel's errors", /-32003|-32603/],
  ])("[BRG-01] %s is spelled by the protocol room alone", (_what, wire) => {
    const code = ({ text }: { readonly text: string }) => text.replace(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, "");
    expect(outside.filter((file) => wire.test(code(file))).map(({ path }) => path)).toEqual([]);
  });
});
