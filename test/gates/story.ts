/**
 * The story that the tests of gates and effects tell: something is drafted, a person decides, it is published.
 * Owns: operators that keep their calls, packages of plain steps, short ways to read the ledger. Never: asserts
 * anything.
 */

import { z } from "zod";
import type { EventPayloads } from "../../src/contract/event.ts";
import type { PlanStepDraft } from "../../src/contract/plan.ts";
import { type CapabilityOptions, defineCapability } from "../../src/define/define-capability.ts";
import type { Gate, GateRequest } from "../../src/index.ts";
import { type TestKernel, testCaller } from "../../src/testing/index.ts";
import { type AnyCall, type Counted, counted as countCalls, eventsOf, type OperatorMore } from "../fixtures.ts";

export { type Counted, eventsOf, refusalOf } from "../fixtures.ts";

export const intent = "Story.Note.Publish";
export const anyObject = z.record(z.string(), z.unknown());

type PackageMore = Partial<CapabilityOptions<z.ZodType>>;

/** Takes any object, keeps its calls, is not retried, and answers with its input where nothing else is said. */
export const counted = (name: string, more: OperatorMore = {}, answer?: (call: AnyCall) => unknown): Counted =>
  countCalls(name, { retry: "NONE", ...more }, answer);

/** A step named like its id. */
export const step = (
  stepId: string,
  { operator }: Counted,
  more: Partial<Omit<PlanStepDraft, "step_id" | "operator">> = {},
): PlanStepDraft => ({ step_id: stepId, name: stepId, operator: operator.metadata.name, ...more });

/** One package, `Story.Note.Publish@1.0`, with these operators and this plan. */
export const story = (operators: readonly Counted[], steps: readonly PlanStepDraft[], more: PackageMore = {}) =>
  defineCapability({
    intentType: intent,
    version: "1.0",
    input: anyObject,
    operators: operators.map(({ operator }) => operator),
    plan: { reasoning: "as the test asks", steps: [...steps] },
    ...more,
  });

export const Note = z.object({ text: z.string().min(1) });

/** Draft (its text counts the drafts), then publish it with a final write: the default policy opens gate-publish. */
export function publishing(
  more: Partial<PlanStepDraft> = {},
  packageMore: PackageMore = {},
  publishMore: OperatorMore = {},
) {
  const draft: Counted = counted("Note.Draft", { effect: "write_draft" }, () => ({
    text: `draft ${draft.calls.length}`,
  }));
  const publish = counted("Note.Publish", {
    effect: "final_write",
    input: Note.extend({ to: z.string() }),
    ...publishMore,
  });
  const steps = [
    step("draft", draft, { outcome: "Draft.Note" }),
    step("publish", publish, { applies: "draft", params: { text: "{{draft.output.text}}", to: "board" }, ...more }),
  ];
  const outcomes = { "Draft.Note": Note };
  return { draft, publish, capability: story([draft, publish], steps, { outcomes, ...packageMore }) };
}

/** `n` steps `s1` … that each wait for a gate of their own, and depend on nothing. */
export function gatedSteps(n: number, more: Partial<PlanStepDraft> = {}) {
  const send = counted("Note.Send", { effect: "write_draft" });
  const ids = Array.from({ length: n }, (_, i) => `s${i + 1}`);
  const steps = ids.map((id) => step(id, send, { gate: {}, params: { id }, ...more }));
  return { send, ids, capability: story([send], steps), sent: () => send.calls.map((c) => c.context.step_id) };
}

type Decision = Omit<GateRequest, "tenant_id" | "principal">;

/** A decision by user 1 of tenant 1, with all that a request may carry. */
export const decide = (t: TestKernel, workflowId: string, decision: Decision) =>
  t.kernel.decideGate(workflowId, { ...testCaller, ...decision });

export async function gateOf(t: TestKernel, workflowId: string, gateId = "gate-publish"): Promise<Gate> {
  const found = (await t.kernel.workflow(workflowId)).gates.find((g) => g.gate_id === gateId);
  if (found === undefined) throw new Error(`${gateId} is not there`);
  return found;
}

/** What a decision says of the payload that a gate shows now. */
export const asShown = async (t: TestKernel, workflowId: string, gateId = "gate-publish") => ({
  payload_digest: (await gateOf(t, workflowId, gateId)).payload_digest,
});

/** Payloads of one type, in order. */
export async function payloads<T extends keyof EventPayloads>(
  t: TestKernel,
  workflowId: string,
  type: T,
): Promise<readonly EventPayloads[T][]> {
  const events = (await eventsOf(t, workflowId)).filter((e) => e.event_type === type);
  return events.map((e) => e.payload as unknown as EventPayloads[T]);
}

/** `TYPE:step` of each event, in order, of these types only. */
export async function steps(t: TestKernel, workflowId: string, types: readonly string[]): Promise<readonly string[]> {
  const events = (await eventsOf(t, workflowId)).filter((e) => types.includes(e.event_type));
  return events.map((e) => `${e.event_type}:${e.step_id ?? ""}`);
}

export const count = (items: readonly unknown[], wanted: unknown): number => items.filter((i) => i === wanted).length;

/** A promise that the test fulfils when it likes. */
export function held<T>(): { readonly promise: Promise<T>; readonly release: (value: T) => void } {
  let release: (value: T) => void = () => undefined;
  const promise = new Promise<T>((resolve) => {
    release = resolve;
  });
  return { promise, release };
}
