/**
 * Answers that are not read yet: a large one is handed out in pieces as its client takes them, is counted while it is
 * held, and is dropped when its client takes nothing.
 *
 * Owns: the bytes that all clients, and the clients of one caller, may leave unread.
 * U1  What is held for unread answers is bounded, of one caller and of all. Each may have one answer, whatever its size.
 * U2  A client that takes nothing for `maxStallMs` is cut off, and what was held for it is free.
 */
import { kernelError } from "../../contract/error-codes.ts";
import { raise } from "../../contract/kernel-error.ts";
import { moduleRef } from "../../contract/module-ref.ts";
import type { Clock } from "../../index.ts";
import { largeTextOf } from "./answer.ts";
import type { HttpCaller, HttpLimits } from "./http-options.ts";
import { nameOfCaller } from "./name-caller.ts";

export interface UnreadAnswers {
  /** The same answer, read in pieces if it is large. @throws KernelErrorException T0_HTTP_UNREAD_LIMIT, T0_HTTP_CALLER_UNREAD_LIMIT. */
  readonly hold: (caller: HttpCaller, answer: Response) => Response;
  /** Bytes that are held now. */
  readonly bytes: () => number;
}

export type UnreadLimits = Pick<HttpLimits, "maxUnreadBytes" | "maxUnreadBytesPerCaller" | "maxStallMs">;

const unreadRef = moduleRef(0, "http", "unread_answers");
/** Answers up to this size are given to the connection at once. */
const pieceBytes = 65_536;

export function createUnreadAnswers(limits: UnreadLimits, clock: Clock): UnreadAnswers {
  const byCaller = new Map<string, number>();
  let held = 0;
  const count = (name: string, by: number): void => {
    held += by;
    const now = (byCaller.get(name) ?? 0) + by;
    if (now > 0) byCaller.set(name, now);
    else byCaller.delete(name);
  };
  const requirePlace = (name: string, size: number): void => {
    const own = byCaller.get(name) ?? 0;
    const { maxUnreadBytes, maxUnreadBytesPerCaller } = limits;
    if (own > 0 && own + size > maxUnreadBytesPerCaller)
      refuse("T0_HTTP_CALLER_UNREAD_LIMIT", { maxUnreadBytesPerCaller });
    if (held > 0 && held + size > maxUnreadBytes) refuse("T0_HTTP_UNREAD_LIMIT", { maxUnreadBytes });
  };
  return {
    bytes: () => held,
    hold(caller, answer) {
      const text = largeTextOf(answer);
      if (text === undefined) return answer;
      const bytes = new TextEncoder().encode(text);
      if (bytes.length <= pieceBytes) return answer;
      const name = nameOfCaller(caller);
      requirePlace(name, bytes.length);
      count(name, bytes.length);
      const body = inPieces(bytes, { clock, maxStallMs: limits.maxStallMs, onEnd: () => count(name, -bytes.length) });
      const headers = new Headers(answer.headers);
      headers.set("content-length", String(bytes.length));
      return new Response(body, { status: answer.status, headers });
    },
  };
}

interface Pieces {
  readonly clock: Clock;
  readonly maxStallMs: number;
  /** Runs once, however it ends. */
  readonly onEnd: () => void;
}

function inPieces(bytes: Uint8Array<ArrayBuffer>, { clock, maxStallMs, onEnd }: Pieces): ReadableStream<Uint8Array> {
  let at = 0;
  let cancelStall = (): void => undefined;
  let isOver = false;
  const end = (): void => {
    cancelStall();
    if (!isOver) onEnd();
    isOver = true;
  };
  const watch = (controller: ReadableStreamDefaultController<Uint8Array>): void => {
    cancelStall = clock.setTimer(
      clock.now() + maxStallMs,
      () => {
        end();
        controller.error(new Error(`an answer was cut off: its reader took nothing for ${maxStallMs} ms`));
      },
      true,
    );
  };
  return new ReadableStream({
    start: watch,
    pull(controller) {
      cancelStall();
      const piece = bytes.subarray(at, at + pieceBytes);
      at += piece.length;
      controller.enqueue(piece);
      if (at < bytes.length) return watch(controller);
      end();
      controller.close();
    },
    cancel: end,
  });
}

function refuse(code: "T0_HTTP_UNREAD_LIMIT" | "T0_HTTP_CALLER_UNREAD_LIMIT", detail: Record<string, number>): never {
  const [[name, most]] = Object.entries(detail) as [[string, number]];
  const whose = code === "T0_HTTP_UNREAD_LIMIT" ? "" : " of this caller";
  return raise(kernelError(code, `answers${whose} hold limits.${name} = ${most} bytes unread`, unreadRef, { detail }));
}
