/**
 * Answers that are not read yet: a large one is written in pieces as its client takes them, is counted while its value
 * is held, and is dropped when its client takes nothing.
 *
 * 1.  The memory for unread answers is bounded, of one caller and of all (unread-bytes.ts).
 * 2.  A client that takes nothing for `maxStallMs` is cut off, and its memory is released.
 */
import type { Clock } from "../../index.ts";
import { largeBodyOf } from "./answer.ts";
import type { HttpCaller, HttpLimits } from "./http-options.ts";
import { streamJson } from "./stream-json.ts";
import { createUnreadBytes } from "./unread-bytes.ts";
import { measureJson, pieceChars } from "./write-json.ts";

export interface UnreadAnswers {
  /**
   * Returns the same answer, written in pieces if it is large. @throws KernelErrorException T0_HTTP_UNREAD_LIMIT,
   * T0_HTTP_CALLER_UNREAD_LIMIT.
   */
  readonly hold: (caller: HttpCaller, answer: Response) => Promise<Response>;
}

export type UnreadLimits = Pick<HttpLimits, "maxUnreadBytes" | "maxUnreadBytesPerCaller" | "maxStallMs">;

export function createUnreadAnswers(limits: UnreadLimits, clock: Clock): UnreadAnswers {
  const { maxUnreadBytes, maxUnreadBytesPerCaller, maxStallMs } = limits;
  const unread = createUnreadBytes(
    ["maxUnreadBytes", maxUnreadBytes],
    ["maxUnreadBytesPerCaller", maxUnreadBytesPerCaller],
  );
  return {
    async hold(caller, answer) {
      const body = largeBodyOf(answer);
      if (body === undefined) return answer;
      const length = await measureJson(body);
      if (length <= pieceChars) return answer;
      const onEnd = unread.hold(caller, { length });
      const { status, headers } = answer;
      return new Response(streamJson(body, { watch: { clock, maxStallMs }, onEnd }), { status, headers });
    },
  };
}
