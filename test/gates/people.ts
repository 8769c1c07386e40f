/**
 * People who decide together: votes, withdrawals and delegations in their names.
 * Owns: short ways to say them, and one gated step that records its calls. Never: asserts anything.
 */
import type { GateRequest, GateSpec } from "../../src/index.ts";
import { type TestKernel, testCaller } from "../../src/testing/index.ts";
import { gatedSteps, intent } from "./story.ts";

export type Person = GateRequest["principal"];
export const person = (id: string | number, role = "user"): Person => ({ type: "user", id, role });
/** Who submits in these tests. */
export const requester: Person = testCaller.principal;
export const [ann, bob, cat, dan] = ["ann", "bob", "cat", "dan"].map((id) => person(id)) as [
  Person,
  Person,
  Person,
  Person,
];

const tenant_id = testCaller.tenant_id;
type Payload = NonNullable<GateRequest["payload"]>;

export const say = (
  t: TestKernel,
  id: string,
  principal: Person,
  decision: "approve" | "reject",
  payload: Payload = {},
) => t.kernel.decideGate(id, { tenant_id, principal, decision, payload });
export const approve = (t: TestKernel, id: string, who: Person, payload: Payload = {}) =>
  say(t, id, who, "approve", payload);
export const reject = (t: TestKernel, id: string, who: Person, payload: Payload = {}) =>
  say(t, id, who, "reject", payload);
export const withdraw = (t: TestKernel, id: string, principal: Person) =>
  t.kernel.withdrawVote(id, { tenant_id, principal });
export const lend = (t: TestKernel, id: string, [from, to]: readonly [Person, Person], expires_at: string) =>
  t.kernel.delegateGate(id, { tenant_id, principal: from, to: { type: to.type, id: to.id }, expires_at });

/** One step behind a gate as given; `sent` are the steps whose operator was called. */
export const gated = (gate: Partial<GateSpec>) => gatedSteps(1, { gate });

/** A workflow of it that waits at its gate. */
export async function waiting(t: TestKernel): Promise<string> {
  const { workflow_id, state } = await t.run(intent);
  if (state !== "waiting_for_user") throw new Error(`it does not wait, it is ${state}`);
  return workflow_id;
}
