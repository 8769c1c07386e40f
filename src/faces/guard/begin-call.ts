/**
 * The workflow of a call: a new one, or the one that the same call began before and that nobody waits for any more.
 *
 * 1.  The same call is that of the same caller, server, tool and arguments. It finds its workflow while that has not
 *     ended, and afterwards if people decided it, until its client has received the result.
 * 2.  A result is offered to one request at a time: of two that ask at once, one gets it.
 * 3.  A call that somebody waits for is not found: two equal calls at the same time are two calls. A client whose
 *     stream broke does not wait.
 */

import { digest } from "../../contract/digest.ts";
import type { JsonObject } from "../../contract/json.ts";
import { isTerminal } from "../../contract/workflow.ts";
import type { Caller } from "../../index.ts";
import { requireScope } from "../mcp/mcp-context.ts";
import { type CallInput, callIntent } from "./call-package.ts";
import type { Attached } from "./calls-in-flight.ts";
import type { GuardContext } from "./guard-context.ts";
import { wasDecided, wasReceived } from "./hand-over.ts";

export interface GuardedCall extends CallInput {
  readonly attached: Attached | null;
}

export interface Begun {
  readonly workflow_id: string;
  /** Ends the offer of an earlier request's result to this one; null if none is offered yet. */
  readonly withdraw: (() => void) | null;
  /** An earlier request began it; another process may have decided its gate meanwhile. */
  readonly isFound: boolean;
}

/** Begins the call, or finds it. @throws KernelErrorException as `submit` does. */
export async function beginCall(context: GuardContext, call: GuardedCall): Promise<Begun> {
  const caller = requireScope(context, "intent:submit");
  const { attached: _, ...inputs } = call;
  const thread_id = threadOf(caller, inputs);
  const found = await findSame(context, caller, thread_id);
  if (found !== null) context.guard.calls.attach(found.workflow_id, call.attached);
  return found ?? { workflow_id: await submitCall(context, call, { thread_id }), withdraw: null, isFound: false };
}

/** Begins the call in any case: a task has an id by which its client finds it. @throws as `submit` does. */
export function submitCall(
  context: GuardContext,
  { attached, ...inputs }: GuardedCall,
  thread: { readonly thread_id?: string } = {},
): Promise<string> {
  const { kernel, guard } = context;
  const asked = {
    ...requireScope(context, "intent:submit"),
    ...thread,
    intent_hint: { intent_type: callIntent, inputs },
  };
  return guard.calls.begin(async () => (await kernel.submit(asked)).workflow_id, attached);
}

const threadOf = ({ tenant_id, principal }: Caller, { effect: _1, definition: _2, ...asked }: CallInput): string =>
  `guard:${digest([tenant_id, principal.type, principal.id, asked as unknown as JsonObject])}`;

/** The number of the newest workflows of a thread that are looked at. */
const looked = 20;

async function findSame(context: GuardContext, caller: Caller, thread_id: string): Promise<Begun | null> {
  const { kernel, guard } = context;
  const listed = await kernel.workflows({ thread_id, principal: caller.principal.id, limit: looked }, caller);
  const free = listed.filter(({ workflow_id }) => !guard.calls.isAwaited(workflow_id));
  const open = free.findLast(({ state }) => !isTerminal(state));
  if (open !== undefined) return { workflow_id: open.workflow_id, withdraw: null, isFound: true };
  const [newest] = free;
  if (newest === undefined) return null;
  const state = await kernel.workflow(newest.workflow_id, caller);
  if (!wasDecided(state) || (await wasReceived(context, caller, state.workflow_id))) return null;
  const withdraw = guard.calls.offer(state.workflow_id);
  return withdraw === null ? null : { workflow_id: state.workflow_id, withdraw, isFound: true };
}
