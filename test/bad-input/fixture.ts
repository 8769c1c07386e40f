/**
 * A kernel with a well-behaved job beside whatever is under test, and the three things that every bad input must leave
 * behind: a coded error with a next step, a kernel that serves, and ledgers that are whole.
 */
import { expect } from "vitest";
import { z } from "zod";
import { type KernelError, KernelErrorException } from "../../src/contract/error.ts";
import { errorCodes, isErrorCode } from "../../src/contract/error-codes.ts";
import type { WorkflowState } from "../../src/contract/workflow-state.ts";
import { createTestKernel, type TestKernel, type TestKernelOptions } from "../../src/testing/test-kernel.ts";
import { job, step, type World, work } from "../recovery/shared-file.ts";

export const who = { tenant_id: 1, principal: { type: "user", id: 1, role: "user" } } as const;
export const unknownWorkflow = "wf_01KDVDNA0054HVWH8MXZWM5XQ8";

const quiet: World = { calls: [], stepsCalled: () => [] };

/** The neighbour: a job that always works, unless the whole kernel does not. */
export const neighbour = {
  ...job([step("s1", "Test.Neighbour")], [work(quiet, "Test.Neighbour", { effect: "none" })]),
  intentType: "Test.Neighbour",
  input: z.object({}),
};

/** As createTestKernel, with the neighbour among the capabilities. */
export const openKernel = ({ capabilities = [], ...options }: TestKernelOptions = {}): Promise<TestKernel> =>
  createTestKernel({ capabilities: [...capabilities, neighbour], ...options });

/** The error is one of the catalogue and its row says what a person does next. */
export function expectCoded(error: KernelError | null | undefined, code?: string): void {
  expect(error).toBeTruthy();
  const found = String(error?.code);
  expect(isErrorCode(found), found).toBe(true);
  if (isErrorCode(found)) expect(errorCodes[found].next).toMatch(/\S+ \S+/);
  if (code !== undefined) expect(found).toBe(code);
  expect(error?.message).not.toBe("");
}

/** The coded error a promise rejects with; anything else that is thrown, or an answer, fails the test. */
export async function refusal(promise: Promise<unknown>): Promise<KernelError> {
  const thrown = await promise.then(
    (answer) => new Error(`it was answered: ${JSON.stringify(answer)}`),
    (error: unknown) => error,
  );
  if (thrown instanceof KernelErrorException) return thrown.error;
  throw thrown;
}

export async function expectRefused(promise: Promise<unknown>, code?: string): Promise<void> {
  expectCoded(await refusal(promise), code);
}

/** Another workflow runs to its end, every chain verifies, and nothing is left hanging. */
export async function expectAlive(t: TestKernel): Promise<void> {
  const served = await t.run("Test.Neighbour");
  expect(served.state, JSON.stringify(served.error)).toBe("completed");
  expect(await t.kernel.verify()).toMatchObject({ ok: true, broken: [] });
  expect(t.kernel.vitals().waiting).toBe(0);
}

/** Exactly these workflows are there, whole: each reads back and its last event is one that rests. */
export async function expectOnly(t: TestKernel, states: readonly string[]): Promise<void> {
  const all = await t.kernel.workflows({ limit: 100 });
  expect(all.map((w) => w.state).sort()).toEqual([...states].sort());
}

/** Runs the job and gives its state; time moves as far as it must. */
export async function endOf(t: TestKernel, code?: string): Promise<WorkflowState> {
  const state = await t.run("Test.Job");
  expect(state.state, JSON.stringify(state)).toBe("failed");
  expectCoded(state.error, code);
  return state;
}

export const never = (): Promise<never> => new Promise(() => undefined);
export const throws = (thrown: unknown) => (): never => {
  throw thrown;
};

export type Method = (...given: readonly unknown[]) => unknown;

/** The names of all methods of a kernel, or of its client for one package. */
export function methodsOf(object: object, prefix = ""): readonly string[] {
  return Object.entries(object).flatMap(([name, member]) => {
    if (typeof member === "function") return [`${prefix}${name}`];
    return ["bus", "system"].includes(name) ? [] : methodsOf(member, `${name}.`);
  });
}

export const methodOf = (object: object, path: string): Method =>
  path.split(".").reduce<unknown>((at, name) => (at as Record<string, unknown>)[name], object) as Method;

/** What it answers; of a stream its first item. */
export async function answerOf(method: Method, given: readonly unknown[]): Promise<unknown> {
  const answer = method(...given);
  if (typeof answer !== "object" || answer === null || !(Symbol.asyncIterator in answer)) return answer;
  const stream = answer as AsyncGenerator<unknown, unknown, void>;
  const { value } = await stream.next();
  await stream.return(undefined);
  return value;
}

/** Returns valid arguments of the methods of schedules, with these inputs of their work. */
export const schedulesWith = (inputs: () => object): Readonly<Record<string, () => readonly unknown[]>> => ({
  setSchedule: () => [{ ...who, name: "tea", every_ms: 60_000, intent_type: "Test.Job", inputs: inputs() }],
  pauseSchedule: () => [{ ...who, name: "tea", reason: "r" }],
  resumeSchedule: () => [{ ...who, name: "tea" }],
  triggerSchedule: () => [{ ...who, name: "tea" }],
  backfillSchedule: () => [
    { ...who, name: "tea", from: "2026-01-01T00:00:00.000Z", until: "2026-01-01T00:00:00.000Z" },
  ],
  deleteSchedule: () => [{ ...who, name: "tea" }],
  schedules: () => [{ tenant_id: 1 }, who],
  schedule: () => [{ tenant_id: 1, name: "tea" }, who],
});
