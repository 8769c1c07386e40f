/**
 * Turns for reads: a list or a fold uses the event loop for milliseconds, and a thousand of one reader would delay all
 * other answers.
 *
 * Owns: the numbers of reads of one caller that run and wait, and the order of callers.
 * 1.  Callers take turns: a waiting caller comes before the next read of the one that has just had its turn.
 * 2.  Within one round of the event loop a caller has no more reads than may run at once: in between, commands, streams
 *     and other connections are served.
 * 3.  The number of a caller's waiting reads is bounded; a further read is refused.
 */
import { kernelError } from "../../contract/error-codes.ts";
import { raise } from "../../contract/kernel-error.ts";
import { moduleRef } from "../../contract/module-ref.ts";
import type { HttpCaller, HttpLimits } from "./http-options.ts";
import { nameOfCaller } from "./name-caller.ts";

export interface ReadTurns {
  /** Runs the read when it is the caller's turn. @throws KernelErrorException T0_HTTP_CALLER_READ_LIMIT. */
  readonly run: <T>(caller: HttpCaller, read: (hasWaited: boolean) => T | Promise<T>) => Promise<T>;
}

interface Reader {
  readonly name: string;
  running: number;
  readonly waiting: (() => void)[];
}

export type ReadLimits = Pick<HttpLimits, "maxReads" | "maxReadsPerCaller" | "maxWaitingReadsPerCaller">;

const turnsRef = moduleRef(0, "http", "read_turns");

export function createReadTurns({ maxReads, maxReadsPerCaller, maxWaitingReadsPerCaller }: ReadLimits): ReadTurns {
  /** Callers with reads; the first is the next one. */
  const readers = new Map<string, Reader>();
  let running = 0;
  const mayRun = (reader: Reader): boolean => running < maxReads && reader.running < maxReadsPerCaller;

  const take = (reader: Reader): void => {
    running += 1;
    reader.running += 1;
  };
  const giveBack = (reader: Reader): void => {
    running -= 1;
    reader.running -= 1;
    readers.delete(reader.name);
    if (reader.running > 0 || reader.waiting.length > 0) readers.set(reader.name, reader);
    startNext();
  };
  const startNext = (): void => {
    for (const reader of readers.values()) {
      if (reader.waiting.length === 0 || !mayRun(reader)) continue;
      take(reader);
      return reader.waiting.shift()?.();
    }
  };
  const turnOf = (reader: Reader): Promise<void> | null => {
    if (reader.waiting.length === 0 && mayRun(reader)) {
      take(reader);
      return null;
    }
    if (reader.waiting.length >= maxWaitingReadsPerCaller) refuse(maxWaitingReadsPerCaller);
    return new Promise((resolve) => reader.waiting.push(resolve));
  };
  return {
    async run(caller, read) {
      const name = nameOfCaller(caller);
      const reader = readers.get(name) ?? { name, running: 0, waiting: [] };
      const turn = turnOf(reader);
      readers.set(name, reader);
      await turn;
      try {
        return await read(turn !== null);
      } finally {
        // A read may end before the next connection is looked at: the turn is free when the event loop has run.
        setImmediate(giveBack, reader);
      }
    },
  };
}

function refuse(limit: number): never {
  const message = `limits.maxWaitingReadsPerCaller = ${limit} reads of this caller wait for their turn`;
  return raise(
    kernelError("T0_HTTP_CALLER_READ_LIMIT", message, turnsRef, { detail: { maxWaitingReadsPerCaller: limit } }),
  );
}
