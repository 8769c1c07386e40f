/**
 * Limits rates: token buckets on the injected clock, one for each caller and one for all unknown callers.
 *
 * Owns: the buckets, in this process's memory. Never: knows rights.
 * 1.  A bucket holds `burst` requests and gains `perSecond` of them each second; an empty one refuses.
 * 2.  At most `maxTracked` buckets are kept. The least recently used one is dropped, because it is full again the
 *     soonest.
 */
import { kernelError } from "../../contract/error-codes.ts";
import { raise } from "../../contract/kernel-error.ts";
import { moduleRef } from "../../contract/module-ref.ts";

export interface Rate {
  readonly perSecond: number;
  readonly burst: number;
}

interface Bucket {
  left: number;
  at: number;
}

/** Returns whether one more is in the bucket, which is one less then. */
function takeOne(bucket: Bucket, { perSecond, burst }: Rate, now: number): boolean {
  refill(bucket, { perSecond, burst }, now);
  if (bucket.left < 1) return false;
  bucket.left -= 1;
  return true;
}

function refill(bucket: Bucket, { perSecond, burst }: Rate, now: number): void {
  const passed = Math.max(0, now - bucket.at);
  bucket.left = Math.min(burst, bucket.left + (passed * perSecond) / 1000);
  bucket.at = now;
}

export interface Allowance {
  readonly isSpent: () => boolean;
  /** Takes one; false if nothing was left. */
  readonly take: () => boolean;
}

/** Creates one bucket. */
export function createAllowance(rate: Rate, now: () => number): Allowance {
  const bucket: Bucket = { left: rate.burst, at: now() };
  return {
    isSpent() {
      refill(bucket, rate, now());
      return bucket.left < 1;
    },
    take: () => takeOne(bucket, rate, now()),
  };
}

export interface Allowances {
  readonly take: (name: string) => boolean;
  readonly tracked: () => number;
}

/** Creates a bucket for each name. */
export function createAllowances(rate: Rate, maxTracked: number, now: () => number): Allowances {
  const buckets = new Map<string, Bucket>();
  return {
    take(name) {
      const bucket = buckets.get(name) ?? { left: rate.burst, at: now() };
      // Put last: the Map's order is that of use.
      buckets.delete(name);
      forgetFirst(buckets, maxTracked);
      buckets.set(name, bucket);
      return takeOne(bucket, rate, now());
    },
    tracked: () => buckets.size,
  };
}

function forgetFirst(buckets: Map<string, Bucket>, most: number): void {
  for (const name of buckets.keys()) {
    if (buckets.size < most) return;
    buckets.delete(name);
  }
}

/** Refuses. @throws KernelErrorException T0_HTTP_RATE_LIMIT, which the edge answers with 429 and Retry-After. */
export function refuseRate(limit: string): never {
  const message = `more requests than limits.${limit} lets through`;
  return raise(kernelError("T0_HTTP_RATE_LIMIT", message, moduleRef(0, "http", "limit_rate"), { detail: { limit } }));
}
