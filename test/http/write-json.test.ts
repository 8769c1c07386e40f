/** Large answers are written in pieces: the text of JSON.stringify, never as a whole, with others served in between. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { answerJson } from "../../src/faces/http/answer.ts";
import { streamJson } from "../../src/faces/http/stream-json.ts";
import { isShortJson, measureJson, pieceChars, writeJson } from "../../src/faces/http/write-json.ts";

const long = "é𝄞\u0000\ud800".repeat(pieceChars);
const large = {
  rows: Array.from({ length: 3_000 }, (_, n) => ({
    n,
    text: `row ${n}\n`.repeat(20),
    none: undefined,
    at: new Date(n),
  })),
  long,
  ["é".repeat(10)]: [undefined, () => 1, null, [long, [], {}], { a: undefined, deep: { deeper: [long] } }],
  left_out: undefined,
};
const piecesOf = (value: unknown): string[] => [...writeJson(value)];

describe("JSON in pieces", () => {
  it("is the text of JSON.stringify, in pieces that are bounded however long one text or list is", () => {
    const pieces = piecesOf(large);
    expect(pieces.join("")).toBe(JSON.stringify(large));
    // An escape has six characters, and a part that is just short of a piece may follow another.
    for (const piece of pieces) expect(piece.length).toBeLessThanOrEqual(2 * 6 * pieceChars);
    expect(pieces.length).toBeGreaterThan(20);
  });

  it("is the text of JSON.stringify for any value", () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 6 }), fc.array(fc.string({ unit: "binary" })), (value, texts) => {
        const filler = texts.map((text) => text + "x".repeat(pieceChars - 3));
        for (const one of [value, { value, filler, more: [value, filler] }])
          expect(piecesOf(one).join("")).toBe(JSON.stringify(one));
      }),
    );
  });

  it("never cuts a pair of surrogates in two, wherever the text begins", () => {
    for (const before of ["", "x"]) {
      const text = before + "𝄞".repeat(pieceChars);
      expect(piecesOf(text).join("")).toBe(JSON.stringify(text));
    }
  });

  it("is measured in bytes without escapes, and others are served while it is measured", async () => {
    const rows = Array.from({ length: 200_000 }, (_, n) => ({ n, text: "é" }));
    let turns = 0;
    const count = (): void => {
      turns += 1;
      if (turns < 1_000) setImmediate(count);
    };
    setImmediate(count);
    const bytes = await measureJson(rows);
    expect(turns).toBeGreaterThan(5);
    expect(Math.abs(bytes / Buffer.byteLength(JSON.stringify(rows)) - 1)).toBeLessThan(0.3);
  });

  it("is short or not by its first characters alone", () => {
    expect(isShortJson({ a: 1 }, 100)).toBe(true);
    expect(isShortJson(["x".repeat(100)], 100)).toBe(false);
    const endless: unknown[] = [1, 2, 3];
    endless.push(endless);
    expect(isShortJson(endless, 10_000)).toBe(false);
  });
});

describe("a large answer", () => {
  it("is not written before it is read, and others are served between two of its pieces", async () => {
    let written = 0;
    const rows = Array.from({ length: 400 }, () => ({
      get text() {
        written += 1;
        return "x".repeat(10_000);
      },
    }));
    const answer = answerJson({ rows });
    const before = written;
    const reader = (answer.body as ReadableStream<Uint8Array>).getReader();
    let turns = 0;
    let isOver = false;
    const count = (): void => {
      turns += 1;
      if (!isOver) setImmediate(count);
    };
    setImmediate(count);
    await reader.read();
    expect([before < 10, written < 50]).toEqual([true, true]);
    let pieces = 1;
    for (let next = await reader.read(); !next.done; next = await reader.read()) pieces += 1;
    isOver = true;
    expect(pieces).toBeGreaterThan(40);
    expect(turns).toBeGreaterThanOrEqual(pieces);
  });

  it("ends once, and its stream fails, where a value cannot be written", async () => {
    let ends = 0;
    const broken = {
      toJSON() {
        throw new Error("no text for this");
      },
    };
    const onEnd = (): void => {
      ends += 1;
    };
    const body = streamJson(["x".repeat(2 * pieceChars), broken], { onEnd });
    await expect(new Response(body).text()).rejects.toThrow("no text for this");
    expect(ends).toBe(1);
  });
});
