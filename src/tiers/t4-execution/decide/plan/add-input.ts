/**
 * Messages to a workflow under way: each is an event, which the next plan is made with.
 *
 * 1.  A message ends no wait and decides no gate: the plan function is given it when the next plan is made.
 * 2.  A message that is in the record is not added again: its row may be written, and its answer be given anew after
 *     the process has lost its lease.
 * 3.  A message with the key of one that is in the record is the same message, or refused if its text is another.
 * 4.  One that comes while a plan is made stands behind that plan, which does not know it.
 */
import { sha256 } from "../../../../contract/digest.ts";
import { raise } from "../../../../contract/error.ts";
import { kernelError } from "../../../../contract/error-codes.ts";
import { draft } from "../../../../contract/event.ts";
import type { Principal } from "../../../../contract/intent.ts";
import { isCancelled, isTerminal } from "../../../../contract/workflow.ts";
import { oodaRef, type Run } from "../run/run.ts";

/** The messages that one workflow takes. */
const maxInputs = 100;

interface Message {
  readonly text: string;
  readonly principal: Principal;
  /** The id of the request, or of its key; absent in rows of earlier releases. */
  readonly input_id?: string;
}

/** Returns the id of a message with a key, the same for the same key of its principal; null for one without a key. */
export const inputIdOf = ({ type, id }: Principal, key: string | undefined): string | null =>
  key === undefined ? null : `inp_${sha256(JSON.stringify([type, id, key])).slice(0, 32)}`;

/**
 * Notes a message. @throws KernelErrorException T4_WORKFLOW_CONFLICT for a workflow that has ended, or is ending;
 * T4_IDEMPOTENCY_PAYLOAD_MISMATCH for a key of another text;
 * T4_INPUT_NOT_TAKEN for one that has made its last plan, or has taken as many as it may.
 */
export function addInput(run: Run, { text, principal, input_id }: Message): void {
  const { record } = run.log;
  const { state, plan, inputs, compensating } = record;
  const known = input_id === undefined ? undefined : inputs.find((one) => one.input_id === input_id);
  if (known?.text === text) return;
  if (known !== undefined)
    raise(kernelError("T4_IDEMPOTENCY_PAYLOAD_MISMATCH", "the key stands for a message with another text", inputRef));
  if (isTerminal(state) || isCancelled(state) || compensating !== null)
    raise(kernelError("T4_WORKFLOW_CONFLICT", `a ${state} workflow takes no message`, inputRef, { detail: { state } }));
  if (plan !== null && plan.direct_response !== null) refuse("it has given its answer");
  if (inputs.length >= maxInputs) refuse(`it has taken ${maxInputs} messages`);
  const isPlanning = run.scopes.hasBegun("plan");
  const follows = isPlanning ? {} : { follows: [...record.standing.planned].at(-1) ?? null };
  run.log.note(draft("INPUT_ADDED", { text, principal, ...follows, ...(input_id !== undefined && { input_id }) }));
}

const inputRef = oodaRef("add_input");

const refuse = (why: string): never =>
  raise(kernelError("T4_INPUT_NOT_TAKEN", `the workflow takes no message any more: ${why}`, inputRef));
