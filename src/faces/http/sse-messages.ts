/**
 * The messages of one stream of server-sent events, made of the items of its channel.
 *
 * 1.  A message is one `id:` if a reader can continue after it, one `event:` and one `data:` line of JSON.
 * 2.  A stream may always hold a message of one piece. A larger one is counted with `hold` until the next is requested,
 *     or the stream ends. One that is refused there, or exceeds the limit, is an error.
 */
import { kernelError } from "../../contract/error-codes.ts";
import { raise } from "../../contract/kernel-error.ts";
import { moduleRef } from "../../contract/module-ref.ts";
import type { Numbered } from "../../index.ts";
import { isShortJson } from "./write-json.ts";

/** An item with the cursor to continue after it; null if nobody can continue from there. */
export type StreamItem = Omit<Numbered<unknown>, "sequence"> & { readonly sequence: number | null };
export interface ItemSource {
  readonly next: () => Promise<IteratorResult<StreamItem, unknown>>;
  readonly return: () => Promise<unknown>;
}

export interface SseMessages {
  /** Returns the next message; null when there are no more. */
  readonly next: () => Promise<Uint8Array | null>;
  readonly return: () => Promise<unknown>;
}

interface Making {
  readonly event: string;
  /** The most bytes of one message (`limits.maxStreamMessageBytes`). */
  readonly maxBytes: number;
  /** Counts an unread message, and returns the function that frees it, good to call twice. */
  readonly hold: (message: Uint8Array) => () => void;
}

/** The bytes that a stream hands to its client at once. */
export const pieceBytes = 65_536;

const messagesRef = moduleRef(0, "http", "sse_messages");
const encoder = new TextEncoder();

/** Makes messages. @throws KernelErrorException at `next`: T0_HTTP_MESSAGE_TOO_LARGE, and the errors of `hold`. */
export function messagesOf(items: ItemSource, making: Making): SseMessages {
  let free = (): void => undefined;
  let isOver = false;
  return {
    async next() {
      free();
      const { done, value } = await items.next();
      if (done === true || isOver) return null;
      const message = encodeMessage(value, making);
      if (message.length > making.maxBytes) refuse(value, making.maxBytes);
      if (message.length > pieceBytes) free = making.hold(message);
      return message;
    },
    return() {
      isOver = true;
      free();
      return items.return();
    },
  };
}

/** Readers of one channel receive the same frozen items, whose message is made once. */
const messages = new WeakMap<object, Uint8Array>();

function encodeMessage(reported: StreamItem, { event, maxBytes }: Making): Uint8Array {
  const { sequence, item } = reported;
  const shared = typeof item === "object" && item !== null && Object.isFrozen(item) ? item : null;
  const made = shared === null ? undefined : messages.get(shared);
  if (made !== undefined) return made;
  if (!isShortJson(item, maxBytes)) refuse(reported, maxBytes);
  const id = sequence === null ? "" : `id: ${sequence}\n`;
  const bytes = encoder.encode(`${id}event: ${event}\ndata: ${JSON.stringify(item)}\n\n`);
  if (shared !== null) messages.set(shared, bytes);
  return bytes;
}

function refuse({ sequence }: StreamItem, maxStreamMessageBytes: number): never {
  const which = sequence === null ? "a message" : `message ${sequence}`;
  const text = `${which} has more than limits.maxStreamMessageBytes = ${maxStreamMessageBytes} bytes`;
  const detail = { maxStreamMessageBytes, ...(sequence !== null && { sequence }) };
  return raise(kernelError("T0_HTTP_MESSAGE_TOO_LARGE", text, messagesRef, { detail }));
}
