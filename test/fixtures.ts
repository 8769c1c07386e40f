/**
 * What the tests of several rooms need: folders and ledger files that go away, operators that count their calls, all
 * events of a workflow, the error that a call is refused with, a user without rights. Never: asserts anything.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll } from "vitest";
import { z } from "zod";
import type { KernelError } from "../src/contract/error.ts";
import type { LedgerEvent } from "../src/contract/event.ts";
import type { Operator, OperatorCall } from "../src/contract/operator.ts";
import { defineOperator, type OperatorOptions } from "../src/define/define-operator.ts";
import { KernelErrorException } from "../src/index.ts";
import type { TestKernel } from "../src/testing/index.ts";

export interface TempFolder extends Disposable {
  readonly path: string;
}

/** A folder of its own, gone when it is disposed of. */
export function makeTempFolder(): TempFolder {
  const path = mkdtempSync(join(tmpdir(), "countersign-test-"));
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) };
}

/** Paths of ledger files in a folder that goes away after the file's tests. */
export function freshPaths(): () => string {
  const folder = makeTempFolder();
  let count = 0;
  afterAll(() => folder[Symbol.dispose]());
  return () => {
    count += 1;
    return join(folder.path, `ledger-${count}.db`);
  };
}

export type AnyCall = OperatorCall<Record<string, unknown>>;
export type OperatorMore = Partial<Omit<OperatorOptions<z.ZodType, z.ZodType>, "name" | "run">>;

/** An operator and the calls that reached it. */
export interface Counted {
  readonly operator: Operator;
  readonly name: string;
  readonly calls: AnyCall[];
}

/** Takes any object, keeps its calls and answers with its input where nothing else is said. */
export function counted(name: string, more: OperatorMore = {}, answer: (call: AnyCall) => unknown = echo): Counted {
  const calls: AnyCall[] = [];
  const operator = defineOperator({
    name,
    input: z.record(z.string(), z.unknown()),
    ...more,
    run(call) {
      calls.push(call as AnyCall);
      return answer(call as AnyCall);
    },
  });
  return { operator, name, calls };
}

const echo = ({ input }: AnyCall): unknown => ({ ...input });

/** All that a workflow's log holds now. */
export const eventsOf = (t: Pick<TestKernel, "kernel">, workflowId: string): Promise<LedgerEvent[]> =>
  Array.fromAsync(t.kernel.events(workflowId, { live: false }));

/** The error a call is refused with; what else it throws is thrown. */
export async function refusalOf(call: Promise<unknown>): Promise<KernelError> {
  try {
    await call;
  } catch (thrown) {
    if (thrown instanceof KernelErrorException) return thrown.error;
    throw thrown;
  }
  throw new Error("nothing was refused");
}

/** Root may read and write everything, so its tests of permissions run as nobody. */
export async function asOrdinaryUser<T>(body: () => Promise<T>): Promise<T> {
  if (process.getuid?.() !== 0) return body();
  process.seteuid?.(65534);
  try {
    return await body();
  } finally {
    process.seteuid?.(0);
  }
}
