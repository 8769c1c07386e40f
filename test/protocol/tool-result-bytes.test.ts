// Bytes in a tool's result: kept once under their digest, named wherever they stand again, and in no error text.
import { describe, expect, it } from "vitest";
import { sha256 } from "../../src/contract/digest.ts";
import { toolResultToSignal } from "../../src/index.ts";

const bytes = Buffer.alloc(600, 7);
const base64 = bytes.toString("base64");
const name = `sha256-${sha256(bytes)}`;
const image = { type: "image", data: base64, mimeType: "image/png" } as const;

describe("bytes in a tool's result", () => {
  it("[OPR-06] [LED-08] are kept once, by digest, where content and structured content hold the same", () => {
    const kept: number[] = [];
    const putArtifact = (given: Uint8Array) => {
      kept.push(given.length);
      return { file_id: `sha256-${sha256(given)}`, path: null };
    };
    const resource = { type: "resource", resource: { uri: "file:///b", blob: base64 } } as const;
    const structuredContent = { image: base64, all: [{ deep: base64 }], text: "short" };
    const result = { content: [image, resource, { type: "json" as const, data: [base64] }], structuredContent };
    const signals = toolResultToSignal(result, "look", "trc_1", { putArtifact });
    expect(kept).toEqual([600]);
    expect(JSON.stringify(signals)).not.toContain(base64);
    expect(signals.map(({ body }) => body["file_id"] ?? body["data"])).toEqual([name, name, [name]]);
    const [, data] = toolResultToSignal({ content: [image], structuredContent }, "look", "trc_1");
    expect(data?.body["data"]).toEqual({ image: name, all: [{ deep: name }], text: "short" });
  });

  it("[OPR-06] [ERR-16] stand in no error text, and the text is bounded", () => {
    for (const result of [
      { content: [image], isError: true },
      { content: [], structuredContent: { why: base64 }, isError: true },
    ]) {
      const [failed] = toolResultToSignal(result, "look", "trc_1");
      expect(failed?.body["text"]).not.toContain(base64);
      expect(failed?.body["text"]).toContain(name);
    }
    const long = { content: [{ type: "text" as const, text: "x".repeat(1_000_000) }], isError: true };
    expect(String(toolResultToSignal(long, "look", "trc_1")[0]?.body["text"]).length).toBeLessThanOrEqual(4_000);
    let deep: unknown = 1;
    for (let i = 0; i < 100_000; i += 1) deep = [deep];
    const [told] = toolResultToSignal({ content: [], structuredContent: deep, isError: true }, "look", "trc_1");
    expect(String(told?.body["text"])).not.toBe("");
  });
});
