/**
 * A large value as a body that is written as it is read: one piece is held for its reader, and no more.
 *
 * 1.  Between two pieces the event loop serves others, however fast the reader is.
 * 2.  However the body ends, its watch ends with it.
 */
import type { Clock } from "../../index.ts";
import { nextTurn, writeJson } from "./write-json.ts";

/** The longest that a reader may take nothing. */
export interface StallWatch {
  readonly clock: Clock;
  readonly maxStallMs: number;
}

interface Reading {
  /** Cuts off a reader that takes nothing for so long; without it no reader is cut off. */
  readonly watch?: StallWatch;
  /** Runs once, however it ends. */
  readonly onEnd: () => void;
}

/** Returns the body. Nothing of it is written before it is read. */
export function streamJson(value: unknown, { watch, onEnd }: Reading): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  const pieces = writeJson(value);
  let cancelStall = (): void => undefined;
  let isOver = false;
  const end = (): void => {
    cancelStall();
    if (!isOver) onEnd();
    isOver = true;
  };
  const watchReader = (controller: ReadableStreamDefaultController<Uint8Array>): void => {
    if (watch === undefined || isOver) return;
    const { clock, maxStallMs } = watch;
    const cutOff = (): void => {
      end();
      controller.error(new Error(`an answer was cut off: its reader took nothing for ${maxStallMs} ms`));
    };
    cancelStall = clock.setTimer(clock.now() + maxStallMs, cutOff, true);
  };
  const hand = (controller: ReadableStreamDefaultController<Uint8Array>): void => {
    const { done, value: piece } = pieces.next();
    if (done !== true) {
      controller.enqueue(encoder.encode(piece));
      return watchReader(controller);
    }
    end();
    controller.close();
  };
  const source = {
    start: watchReader,
    async pull(controller: ReadableStreamDefaultController<Uint8Array>) {
      cancelStall();
      await nextTurn();
      if (isOver) return;
      try {
        hand(controller);
      } catch (thrown) {
        end();
        throw thrown;
      }
    },
    cancel: end,
  };
  return new ReadableStream(source, { highWaterMark: 0 });
}
