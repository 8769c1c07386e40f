/**
 * Limits the number of open streams: of all callers together, and of each.
 *
 * Owns: the count of one app. Never: knows the content of a stream.
 * 1.  A place is given back once, however its stream ends; a caller without streams is dropped.
 */
import { kernelError } from "../../contract/error-codes.ts";
import { raise } from "../../contract/kernel-error.ts";
import { moduleRef } from "../../contract/module-ref.ts";
import type { HttpCaller, HttpLimits } from "./http-options.ts";
import { nameOfCaller } from "./name-caller.ts";

const placesRef = moduleRef(0, "http", "stream_places");

export interface StreamPlaces {
  /**
   * Takes a place; returns the function that frees it. @throws KernelErrorException T0_HTTP_STREAM_LIMIT,
   * T0_HTTP_TENANT_STREAM_LIMIT, T0_HTTP_CALLER_STREAM_LIMIT.
   */
  readonly take: (caller: HttpCaller) => () => void;
}

type PlaceLimits = Pick<HttpLimits, "maxStreams" | "maxStreamsPerTenant" | "maxStreamsPerCaller">;

export function createStreamPlaces({
  maxStreams,
  maxStreamsPerTenant,
  maxStreamsPerCaller,
}: PlaceLimits): StreamPlaces {
  /** The counts of each tenant and of each principal, by name. */
  const held = new Map<string, number>();
  let open = 0;
  const count = (names: readonly string[], by: number): void => {
    open += by;
    for (const name of names) {
      const now = (held.get(name) ?? 0) + by;
      if (now > 0) held.set(name, now);
      else held.delete(name);
    }
  };
  return {
    take(caller) {
      const [tenant, name] = [JSON.stringify([caller.tenant_id]), nameOfCaller(caller)];
      if (open >= maxStreams) refuse("T0_HTTP_STREAM_LIMIT", { maxStreams });
      if ((held.get(tenant) ?? 0) >= maxStreamsPerTenant)
        refuse("T0_HTTP_TENANT_STREAM_LIMIT", { maxStreamsPerTenant });
      if ((held.get(name) ?? 0) >= maxStreamsPerCaller) refuse("T0_HTTP_CALLER_STREAM_LIMIT", { maxStreamsPerCaller });
      count([tenant, name], 1);
      return () => count([tenant, name], -1);
    },
  };
}

const whose = {
  T0_HTTP_STREAM_LIMIT: "",
  T0_HTTP_TENANT_STREAM_LIMIT: " of this tenant",
  T0_HTTP_CALLER_STREAM_LIMIT: " of this caller",
} as const;

function refuse(code: keyof typeof whose, detail: Record<string, number>): never {
  const [most] = Object.values(detail);
  return raise(kernelError(code, `${most} streams${whose[code]} are open, as many as may be`, placesRef, { detail }));
}
