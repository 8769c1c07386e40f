/** A reader that does not keep up is cut off, and its source with it; one that does receives every byte. */
import fc from "fast-check";
import { expect, it } from "vitest";
import { boundedStream } from "../../src/protocol/bounded-stream.ts";
import { runs } from "../properties/property-runs.ts";

/** A source that is written from outside, as streams of servers are. */
function makeSource() {
  const ended: unknown[] = [];
  let open: ReadableStreamDefaultController<Uint8Array> | undefined;
  const body = new ReadableStream<Uint8Array>({
    start: (controller) => {
      open = controller;
    },
    cancel: (reason) => void ended.push(reason),
  });
  return { body, ended, write: (bytes: number) => open?.enqueue(new Uint8Array(bytes)), close: () => open?.close() };
}

const turns = async (count = 50): Promise<void> => {
  for (let i = 0; i < count; i += 1) await null;
};

it("gives a reader that keeps up every byte", () =>
  fc.assert(
    fc.asyncProperty(fc.array(fc.integer({ min: 0, max: 300 }), { maxLength: 20 }), async (chunks) => {
      const source = makeSource();
      const reader = boundedStream(source.body, 100).getReader();
      for (const bytes of chunks) {
        source.write(bytes);
        expect((await reader.read()).value?.length).toBe(bytes);
      }
      source.close();
      expect((await reader.read()).done).toBe(true);
      expect(source.ended).toEqual([]);
    }),
    { numRuns: runs(30) },
  ));

it("cuts off a reader that leaves more unread than the bound, and cancels the source", async () => {
  const source = makeSource();
  const reader = boundedStream(source.body, 100).getReader();
  source.write(5_000);
  await turns();
  expect(source.ended).toEqual([]);
  source.write(1);
  await turns();
  expect(source.ended).toMatchObject([{ message: expect.stringContaining("more than 100 bytes unread") }]);
  await expect(reader.read()).rejects.toThrow("unread");
});

it("ends with its source, and ends its source with its reader", async () => {
  const failing = new ReadableStream<Uint8Array>({ start: (controller) => controller.error(new Error("gone")) });
  await expect(boundedStream(failing, 100).getReader().read()).rejects.toThrow("gone");
  const source = makeSource();
  const reader = boundedStream(source.body, 100).getReader();
  await reader.cancel(new Error("left"));
  await turns();
  expect(source.ended).toMatchObject([{ message: "left" }]);
});
