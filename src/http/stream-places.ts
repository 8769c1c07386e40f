/**
 * How many streams may be open: of all callers together, and of each.
 *
 * Owns: the count of one app. Never: knows what is streamed.
 * P1  A place is given back once, however its stream ends; a caller without streams is forgotten.
 */
import { kernelError } from "../contract/error-codes.ts";
import { raise } from "../contract/kernel-error.ts";
import { moduleRef } from "../contract/module-ref.ts";
import type { HttpCaller, HttpLimits } from "./http-options.ts";

const placesRef = moduleRef(0, "http", "stream_places");

export interface StreamPlaces {
  /** Gives what frees the place again. @throws KernelErrorException T0_HTTP_STREAM_LIMIT, T0_HTTP_CALLER_STREAM_LIMIT. */
  readonly take: (caller: HttpCaller) => () => void;
}

export function createStreamPlaces({ maxStreams, maxStreamsPerCaller }: HttpLimits): StreamPlaces {
  const byCaller = new Map<string, number>();
  let open = 0;
  const count = (name: string, by: number): void => {
    open += by;
    const now = (byCaller.get(name) ?? 0) + by;
    if (now > 0) byCaller.set(name, now);
    else byCaller.delete(name);
  };
  return {
    take({ tenant_id, principal }) {
      const name = JSON.stringify([tenant_id, principal.type, principal.id]);
      if (open >= maxStreams) refuse("T0_HTTP_STREAM_LIMIT", { maxStreams });
      if ((byCaller.get(name) ?? 0) >= maxStreamsPerCaller)
        refuse("T0_HTTP_CALLER_STREAM_LIMIT", { maxStreamsPerCaller });
      count(name, 1);
      return () => count(name, -1);
    },
  };
}

function refuse(code: "T0_HTTP_STREAM_LIMIT" | "T0_HTTP_CALLER_STREAM_LIMIT", detail: Record<string, number>): never {
  const [most] = Object.values(detail);
  const whose = code === "T0_HTTP_STREAM_LIMIT" ? "" : " of this caller";
  return raise(kernelError(code, `${most} streams${whose} are open, as many as may be`, placesRef, { detail }));
}
