/**
 * Answers that are not read yet: a large one is written in pieces as its client takes them, is counted while its value is
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
import { largeBodyOf } from "./answer.ts";
import type { HttpCaller, HttpLimits } from "./http-options.ts";
import { nameOfCaller } from "./name-caller.ts";
import { streamJson } from "./stream-json.ts";
import { measureJson, pieceChars } from "./write-json.ts";

export interface UnreadAnswers {
  /** Returns the same answer, written in pieces if it is large. @throws KernelErrorException T0_HTTP_UNREAD_LIMIT, T0_HTTP_CALLER_UNREAD_LIMIT. */
  readonly hold: (caller: HttpCaller, answer: Response) => Promise<Response>;
  /** Bytes that are held now. */
  readonly bytes: () => number;
}

export type UnreadLimits = Pick<HttpLimits, "maxUnreadBytes" | "maxUnreadBytesPerCaller" | "maxStallMs">;

const unreadRef = moduleRef(0, "http", "unread_answers");

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
    async hold(caller, answer) {
      const body = largeBodyOf(answer);
      if (body === undefined) return answer;
      const bytes = await measureJson(body);
      if (bytes <= pieceChars) return answer;
      const name = nameOfCaller(caller);
      requirePlace(name, bytes);
      count(name, bytes);
      const watch = { clock, maxStallMs: limits.maxStallMs };
      const { status, headers } = answer;
      return new Response(streamJson(body, { watch, onEnd: () => count(name, -bytes) }), { status, headers });
    },
  };
}

function refuse(code: "T0_HTTP_UNREAD_LIMIT" | "T0_HTTP_CALLER_UNREAD_LIMIT", detail: Record<string, number>): never {
  const [[name, most]] = Object.entries(detail) as [[string, number]];
  const whose = code === "T0_HTTP_UNREAD_LIMIT" ? "" : " of this caller";
  return raise(kernelError(code, `answers${whose} hold limits.${name} = ${most} bytes unread`, unreadRef, { detail }));
}
