/**
 * One conversation of an agent: its tool calls are judged, run and taken under the kernel of their author.
 *
 * 1.  Thread and call id name a call: asking again, also after a restart of either side, finds the same workflow.
 * 2.  Nothing that a rule gates runs without a permit. A kernel that does not answer refuses the call.
 * 3.  A permit is used once: a second run receives the recorded answer of the first, a second taking is refused.
 * 4.  Equal uses of a tool are numbered, and the last number is found by a few reads of keys. A use has a new number
 *     once the permit of the one before it is taken.
 */
import { z } from "zod";
import { digest } from "../../contract/digest.ts";
import { isOpenGate } from "../../contract/gate.ts";
import type { Json, JsonObject } from "../../contract/json.ts";
import { type KernelError, KernelErrorException, messageOf, raise } from "../../contract/kernel-error.ts";
import { readStrictly } from "../../contract/known-keys.ts";
import { moduleRef } from "../../contract/module-ref.ts";
import { isTerminal } from "../../contract/workflow.ts";
import type { Caller, Clock, Gate, Kernel, WorkflowState } from "../../index.ts";
import { linkTo } from "../../protocol/console-link.ts";
import { waitForRest } from "../../protocol/wait-for-rest.ts";
import type {
  AgentCall,
  AgentThread,
  AllowedCall,
  JudgedCall,
  RefusedCall,
  ReportedAnswer,
  ReportedCall,
  RunCall,
  ToolFunction,
  ToolUse,
  WaitingCall,
  WaitingGate,
} from "./agent-call.ts";
import { boundAnswer } from "./bound-answer.ts";
import {
  AgentPayload,
  callIntent,
  permitOutcome,
  resultEvent,
  resultOutcome,
  runIntent,
  ToolAnswer,
  type ToolEffect,
} from "./call-package.ts";
import { agentError, describeApproval, describeChange, describeError, describeRefusal } from "./call-words.ts";
import { findLast } from "./find-last.ts";
import type { LiveTools } from "./live-tools.ts";
import { readArguments } from "./read-arguments.ts";

export interface ThreadParts {
  readonly kernel: Kernel;
  readonly caller: Caller;
  readonly agent: string;
  readonly thread: string;
  readonly reads: ReadonlySet<string>;
  readonly live: LiveTools;
  readonly clock: Clock;
  readonly waitMs: number;
  readonly consoleUrl: string | undefined;
}

/** The time in which rules judge a call, in ms; one that is held for longer is told as waiting. */
const judgingMs = 30_000;

const never = new AbortController().signal;
const source = moduleRef(0, "agents", "agent_thread");

export class KernelThread implements AgentThread {
  readonly #parts: ThreadParts;

  constructor(parts: ThreadParts) {
    this.#parts = parts;
  }

  ask(call: AgentCall, signal: AbortSignal = never): Promise<JudgedCall> {
    return orRefused(signal, () => this.#judge(call, signal));
  }

  run(call: AgentCall, tool: ToolFunction, signal: AbortSignal = never): Promise<RunCall> {
    return orRefused(signal, async () => {
      const judged = await this.#judge(call, signal);
      return judged.status === "allowed" ? this.#run(call, judged, tool, signal) : judged;
    });
  }

  take(call: AgentCall, taker: string, signal: AbortSignal = never): Promise<JudgedCall> {
    return orRefused(signal, async () => this.#take(call, await this.#judge(call, signal), taker));
  }

  takeNext({ use_id, tool, arguments: given }: ToolUse, signal: AbortSignal = never): Promise<JudgedCall> {
    return orRefused(signal, async () => {
      const args = readArguments(given);
      const use = digest([tool, args]);
      const callOf = (nth: number): AgentCall => ({ call_id: `${use}:${nth}`, tool, arguments: args });
      const last = await findLast(async (nth) => (await this.#find(this.#callKeyOf(callOf(nth)))) !== null);
      for (let nth = Math.max(last, 0); ; nth += 1) {
        const call = callOf(nth);
        const judged = await this.#judgeNext(call, nth === 0 ? null : callOf(nth - 1), signal);
        const taken = await orRefused(signal, () => this.#take(call, judged, use_id));
        if (taken.status !== "refused" || taken.code !== "T0_AGENT_TAKEN") return taken;
      }
    });
  }

  report(taker: string, answer: ReportedAnswer): Promise<ReportedCall> {
    return orRefused(never, async () => {
      const { kernel, caller, clock } = this.#parts;
      const key = this.#resultKeyOf(taker);
      const event = { ...caller, name: resultEvent, key, event_id: key, payload: boundAnswer(answer) };
      const until = clock.now() + judgingMs;
      for (const { workflow_id } of (await kernel.emit(event)).resumed)
        await this.#rest(workflow_id, { signal: never, after: -1, until });
      return { status: "reported" };
    });
  }

  async #take(call: AgentCall, judged: JudgedCall, taker: string): Promise<JudgedCall> {
    if (judged.status !== "allowed") return judged;
    const effect = this.#effectOf(call.tool);
    await this.#use(judged, call.tool, { effect, result_key: this.#resultKeyOf(taker) });
    return judged;
  }

  /** Judges one of equal calls: finds its judgement, or has it made in knowledge of the call before it. */
  async #judgeNext(call: AgentCall, before: AgentCall | null, signal: AbortSignal): Promise<JudgedCall> {
    const found = await this.#find(this.#callKeyOf(call));
    if (found !== null) return this.#judgementIn(found, this.#payloadOf(call), signal);
    const unknown_end = before === null ? null : await this.#unknownEndOf(before);
    return this.#judge(call, signal, unknown_end === null ? {} : { unknown_end });
  }

  /** Returns the run of a call that may write and of which no result was reported; null if its end is known. */
  async #unknownEndOf(call: AgentCall): Promise<string | null> {
    if (this.#effectOf(call.tool) === "read") return null;
    const permit = await this.#find(this.#callKeyOf(call));
    const run = permit === null ? null : await this.#find(keyOfUse(permit));
    if (run === null) return null;
    const { state, outcomes } = await this.#parts.kernel.workflow(run, this.#parts.caller);
    const { unreported } = ToolAnswer.parse(outcomes.at(-1)?.content ?? { unreported: true });
    return state === "completed" && unreported === undefined ? null : run;
  }

  /** Returns the workflow that a request of this conversation began under a key; null if there is none. */
  async #find(idempotency_key: string): Promise<string | null> {
    const { kernel, caller } = this.#parts;
    return (await kernel.workflows({ idempotency_key, limit: 1 }, caller))[0]?.workflow_id ?? null;
  }

  #callKeyOf({ call_id }: AgentCall): string {
    const { agent, thread } = this.#parts;
    return keyOf("call", agent, thread, readStrictly(CallId, call_id, { what: "the id of the tool call", source }));
  }

  /** Returns the key by which the result of a use finds the run that waits for it. */
  #resultKeyOf(taker: string): string {
    const { agent, thread } = this.#parts;
    return keyOf("result", agent, thread, taker);
  }

  /** @throws KernelErrorException T0_VALIDATION_SCHEMA_MISMATCH for arguments that are no JSON, and as `submit`. */
  async #judge(call: AgentCall, signal: AbortSignal, more: JsonObject = {}): Promise<JudgedCall> {
    const { kernel, caller, thread } = this.#parts;
    const asked = this.#payloadOf(call);
    const inputs = { ...asked, ...more, effect: this.#effectOf(call.tool) };
    const { workflow_id } = await kernel.submit(
      {
        ...caller,
        thread_id: thread,
        intent_hint: { intent_type: callIntent, inputs },
        idempotency_key: this.#callKeyOf(call),
      },
      { signal },
    );
    return this.#judgementIn(workflow_id, asked, signal);
  }

  /** @throws KernelErrorException T0_VALIDATION_SCHEMA_MISMATCH for arguments that are no JSON. */
  #payloadOf({ tool, arguments: args }: AgentCall): AgentPayload {
    const given = { agent: this.#parts.agent, tool, arguments: readArguments(args) };
    return readStrictly(AgentPayload, given, { what: "the tool call", source });
  }

  /** Returns the judgement of a call, once its workflow rests or the time for it is over. */
  async #judgementIn(workflow_id: string, asked: AgentPayload, signal: AbortSignal): Promise<JudgedCall> {
    const { clock, waitMs } = this.#parts;
    const begun = clock.now();
    let state = await this.#rest(workflow_id, { signal, after: -1, until: begun + judgingMs + waitMs });
    while (waitMs > 0 && !isTerminal(state.state) && clock.now() < begun + waitMs)
      state = await this.#rest(workflow_id, { signal, after: state.sequence, until: begun + waitMs });
    return this.#read(asked, state);
  }

  #effectOf = (tool: string): ToolEffect => (this.#parts.reads.has(tool) ? "read" : "final_write");

  /** Returns the state at the next rest, or the present one once the time is over. */
  async #rest(
    workflowId: string,
    { signal, after, until }: { readonly signal: AbortSignal; readonly after: number; readonly until: number },
  ): Promise<WorkflowState> {
    const { kernel, caller, clock } = this.#parts;
    const over = new AbortController();
    const cancel = clock.setTimer(until, () => over.abort());
    try {
      return await waitForRest({ kernel, caller }, workflowId, {
        signal: AbortSignal.any([signal, over.signal]),
        after,
      });
    } catch (thrown) {
      signal.throwIfAborted();
      if (!over.signal.aborted) throw thrown;
      return kernel.workflow(workflowId, caller);
    } finally {
      cancel();
    }
  }

  #read(asked: AgentPayload, state: WorkflowState): JudgedCall {
    const { workflow_id, gates } = state;
    if (!isTerminal(state.state)) return this.#waiting(state, asked.tool);
    const permit = state.outcomes.findLast(({ outcome_type }) => outcome_type === permitOutcome);
    if (state.state !== "completed" || permit === undefined)
      return { status: "refused", workflow_id, code: codeOf(state), words: describeRefusal(state) };
    const permitted = AgentPayload.parse(permit.content);
    if (permitted.tool !== asked.tool || permitted.agent !== asked.agent)
      return refusedBy(
        agentError("T0_AGENT_CALL_CHANGED", `the approval is for ${permitted.tool} of ${permitted.agent}`, {
          workflow_id,
        }),
      );
    const isChanged = digest(permitted as unknown as Json) !== digest(asked as unknown as Json);
    const note = isChanged ? describeChange(asked, permitted, gates) : null;
    const approval = describeApproval(gates);
    return { status: "allowed", workflow_id, arguments: permitted.arguments, note, approval };
  }

  #waiting(state: WorkflowState, tool: string): WaitingCall {
    const { workflow_id, held_by, paused } = state;
    const gates = state.gates.filter(isOpenGate).map((gate) => this.#describeGate(gate));
    const links = gates.flatMap(({ link }) => link ?? []);
    const held = paused !== null || held_by.length > 0 ? "is held" : "waits for a person's decision";
    const where = links.length === 0 ? `, workflow ${workflow_id}` : ` at ${links.join(", ")}`;
    const message = `the call of ${tool} ${held}${where}`;
    const words = describeError(agentError("T0_AGENT_WAITING", message, { workflow_id }));
    return { status: "waiting", workflow_id, gates, words };
  }

  #describeGate(gate: Gate): WaitingGate {
    const { gate_id, title, payload_digest, due_at, workflow_id } = gate;
    const { consoleUrl } = this.#parts;
    const link = consoleUrl === undefined ? {} : { link: linkTo(consoleUrl, { workflow_id, gate }) };
    return { gate_id, title, payload_digest, due_at, ...link };
  }

  async #run(call: AgentCall, judged: AllowedCall, tool: ToolFunction, signal: AbortSignal): Promise<RunCall> {
    const { kernel, caller, live } = this.#parts;
    const permit = judged.workflow_id;
    const isChanged = judged.note !== null;
    return live.during(
      permit,
      (args, limit) => tool(args, limit, isChanged),
      async () => {
        const effect = this.#effectOf(call.tool);
        const workflow_id = await this.#use(judged, call.tool, { effect });
        const stop = (): void =>
          void kernel.cancel(workflow_id, { ...caller, reason: "the agent was stopped" }).catch(() => 0);
        signal.addEventListener("abort", stop, { once: true });
        try {
          let state = await waitForRest({ kernel, caller }, workflow_id, { signal });
          if (state.error?.code === "T0_AGENT_AWAY") {
            await kernel.retry(workflow_id, { ...caller });
            state = await waitForRest({ kernel, caller }, workflow_id, { signal, after: state.sequence });
          }
          return this.#readRun(call, judged, state);
        } finally {
          signal.removeEventListener("abort", stop);
        }
      },
    );
  }

  #readRun({ tool }: AgentCall, { note }: AllowedCall, state: WorkflowState): RunCall {
    const { workflow_id } = state;
    if (!isTerminal(state.state)) return this.#waiting(state, tool);
    if (state.state !== "completed")
      return { status: "refused", workflow_id, code: codeOf(state), words: describeRefusal(state) };
    const result = state.outcomes.findLast(({ outcome_type }) => outcome_type === resultOutcome);
    const { output = null, error } = ToolAnswer.parse(result?.content ?? {});
    if (error !== undefined) return { status: "failed", workflow_id, message: error, note };
    return { status: "made", workflow_id, output, note };
  }

  /** Uses the permit, under one key for all uses. @throws KernelErrorException T0_AGENT_TAKEN, and as `submit`. */
  async #use(judged: AllowedCall, tool: string, more: JsonObject): Promise<string> {
    const { kernel, caller, agent, thread } = this.#parts;
    const { workflow_id: permit, arguments: args } = judged;
    const inputs = { permit, approved: { agent, tool, arguments: args }, ...more };
    const asked = { ...caller, thread_id: thread, intent_hint: { intent_type: runIntent, inputs } };
    try {
      return (await kernel.submit({ ...asked, idempotency_key: keyOfUse(permit) })).workflow_id;
    } catch (thrown) {
      if (!isUsed(thrown)) throw thrown;
      return raise(agentError("T0_AGENT_TAKEN", `the permit for ${tool} was used`, { workflow_id: permit }));
    }
  }
}

const CallId = z.string().min(1);

const keyOf = (kind: string, ...parts: readonly string[]): string => `agent-${kind}:${digest([...parts])}`;

const keyOfUse = (permit: string): string => `agent-use:${permit}`;

const isUsed = (thrown: unknown): boolean =>
  thrown instanceof KernelErrorException && thrown.error.code === "T4_IDEMPOTENCY_PAYLOAD_MISMATCH";

const codeOf = ({ error }: WorkflowState): string => error?.code ?? "T5_HUMAN_DENIED";

const refusedBy = (error: KernelError): RefusedCall => ({
  status: "refused",
  workflow_id: typeof error.detail["workflow_id"] === "string" ? error.detail["workflow_id"] : null,
  code: error.code,
  words: describeError(error),
});

/** Refuses where the kernel gave no answer. Rejects only with the reason of `signal`. */
export async function orRefused<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T | RefusedCall> {
  try {
    signal.throwIfAborted();
    return await work();
  } catch (thrown) {
    signal.throwIfAborted();
    if (thrown instanceof KernelErrorException) return refusedBy(thrown.error);
    return refusedBy(agentError("T0_AGENT_UNJUDGED", `the kernel gave no answer: ${messageOf(thrown)}`));
  }
}
