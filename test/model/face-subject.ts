/**
 * A workflow that is driven and read over HTTP or MCP: orders go through a face with the credential of their author,
 * and the state is read there. All walks share one kernel, whose faces are asked without a socket.
 *
 * Owns: the faces, and the names of orders there. Never: the script, or what an order brings about.
 */
import { digest } from "../../src/contract/digest.ts";
import { isCancelled, isTerminal } from "../../src/contract/workflow.ts";
import type { LedgerEvent, WorkflowState } from "../../src/index.ts";
import type { TestKernel } from "../../src/testing/index.ts";
import { call, type McpUnderTest, openMcp, told } from "../mcp/mcp-fixture.ts";
import { intent, Script } from "./scripted.ts";
import { type ParkedKind, scriptedBy, type Walked } from "./subject.ts";

/** The error for what only a host can do: a process that dies cannot be asked over its faces. */
export class NotOverFaces extends Error {
  static readonly text = "a process that dies is asked by nobody";

  constructor() {
    super(NotOverFaces.text);
  }
}

/** A refusal as a face tells it. */
class Refusal extends Error {
  readonly error: { readonly code: string };

  constructor(code: string, message: string) {
    super(`${code}: ${message}`);
    this.error = { code };
  }
}

type Answer = Readonly<Record<string, unknown>>;

/** One order: the last word of its address, the name of its tool, its request, and whose credential it has. */
interface Order {
  readonly word: string;
  readonly tool: string;
  readonly request: object;
  readonly workflow_id?: string;
  readonly as?: "own" | "admin";
}

interface Decision {
  readonly gate_id: string | undefined;
  readonly decision: "approve" | "reject";
  readonly payload: object;
}

/** A way to put orders to the kernel, and to read a workflow. */
export interface Door {
  readonly name: "HTTP" | "MCP";
  readonly submit: (intentType: string) => Promise<Answer>;
  readonly decide: (workflowId: string, decision: Decision) => Promise<Answer>;
  readonly order: (order: Order) => Promise<Answer>;
  readonly read: (workflowId: string) => Promise<WorkflowState>;
}

export interface Faces extends AsyncDisposable {
  readonly t: TestKernel;
  readonly script: Script;
  readonly doors: readonly Door[];
}

/** The intent whose work is planned again so often at most. */
const intentOf = (replans: number): string => (replans === 0 ? intent : `${intent}.Again`);

export async function openFaces(): Promise<Faces> {
  const script = new Script();
  const operators = script.operators();
  const capabilities = [0, 1].map((maxReplans) => script.capability(intentOf(maxReplans), operators, { maxReplans }));
  const under = await openMcp({ capabilities, ...scriptedBy(script) });
  return {
    t: under.t,
    script,
    doors: [openHttp(under), await openTools(under, openHttp(under).read)],
    [Symbol.asyncDispose]: () => under[Symbol.asyncDispose](),
  };
}

function openHttp({ fetch }: McpUnderTest): Door {
  const ask = async (path: string, as: string, body?: object): Promise<Answer> => {
    const headers = { "content-type": "application/json" };
    const posted = body === undefined ? {} : { method: "POST", headers, body: JSON.stringify(body) };
    const response = await fetch(path, posted, as);
    const answer = (await response.json()) as Answer & { readonly code?: string; readonly detail?: string };
    if (!response.ok) throw new Refusal(String(answer.code), String(answer.detail));
    return answer;
  };
  return {
    name: "HTTP",
    submit: (intent_type) => ask("/v1/kernel/submit", "own", { intent_hint: { intent_type, inputs: {} } }),
    decide: (id, decision) => ask(`/v1/kernel/workflows/${id}/gate`, "own", decision),
    order: ({ word, request, workflow_id, as = "own" }) =>
      ask(`/v1/kernel/${workflow_id === undefined ? word : `workflows/${workflow_id}/${word}`}`, as, request),
    read: async (id) => (await ask(`/v1/kernel/workflows/${id}`, "own")) as unknown as WorkflowState,
  };
}

/** No tool tells the steps of a workflow: those are read over HTTP. @param read that. */
async function openTools({ connect }: McpUnderTest, read: Door["read"]): Promise<Door> {
  const clients = { own: await connect("own"), admin: await connect("admin") };
  const ask = async (tool: string, given: object, as: "own" | "admin" = "own"): Promise<Answer> => {
    const { isError, structuredContent, content } = await call(clients[as], tool, given);
    if (isError !== true) return structuredContent as Answer;
    const text = JSON.stringify(structuredContent ?? content);
    throw new Refusal(/T\d_[A-Z_]+/.exec(text)?.[0] ?? "", text);
  };
  return {
    name: "MCP",
    submit: (intent_type) => ask("submit-intent", { intent_type }),
    decide: (workflow_id, { payload, ...decision }) => ask("decide-gate", { workflow_id, ...decision, ...payload }),
    order: ({ tool, request, workflow_id, as }) =>
      ask(tool, { ...request, ...(workflow_id !== undefined && { workflow_id }) }, as),
    async read(id) {
      const { state } = await told<WorkflowState & Answer>(clients.own, "read-workflow", { workflow_id: id });
      return { ...(await read(id)), state };
    },
  };
}

export interface FaceOptions {
  readonly faces: Faces;
  readonly door: Door;
  readonly parks: ParkedKind;
  readonly replans: number;
}

export class FaceSubject implements Walked {
  readonly parks: ParkedKind;
  readonly script: Script;
  readonly t: TestKernel;
  readonly #door: Door;
  readonly #replans: number;
  #ids: string[] = [];

  constructor({ faces: { t, script }, door, parks, replans }: FaceOptions) {
    this.parks = parks;
    this.script = script;
    this.t = t;
    this.#door = door;
    this.#replans = replans;
  }

  get id(): string {
    return this.#ids.at(-1) ?? "";
  }

  async submit(): Promise<void> {
    this.#begun(await this.#door.submit(intentOf(this.#replans)));
    await this.t.clock.settle();
  }

  #begun({ workflow_id }: Answer): void {
    this.#ids.push(String(workflow_id));
  }

  async #order(word: string, tool: string, request: object = {}): Promise<Answer> {
    const answer = await this.#door.order({ word, tool, request, workflow_id: this.id });
    await this.t.clock.settle();
    return answer;
  }

  crash(): Promise<void> {
    throw new NotOverFaces();
  }

  async decide(decision: "approve" | "reject", gateId?: string, payload: object = {}): Promise<void> {
    const { gates } = await this.view();
    const gate = gates.find(({ gate_id, status }) => (gateId === undefined ? status === "open" : gate_id === gateId));
    const { gate_id, payload_digest } = gate ?? { gate_id: gateId, payload_digest: digest("unseen") };
    const seen = { payload_digest, ...(gate?.basis_digest !== undefined && { basis_digest: gate.basis_digest }) };
    await this.#door.decide(this.id, { gate_id, decision, payload: { ...seen, ...payload } });
    await this.t.clock.settle();
  }

  async cancel(undo = false): Promise<void> {
    await this.#order("cancel", "cancel-workflow", { undo });
  }

  async retry(): Promise<void> {
    await this.#order("retry", "retry-workflow", { mode: "resume_failed_steps" });
  }

  async rollback(): Promise<void> {
    await this.#order("rollback", "rollback-workflow");
  }

  async fork(): Promise<void> {
    const { sequence } = await this.view();
    this.#begun(await this.#order("fork", "fork-workflow", { at: sequence }));
  }

  async halt(operator: string): Promise<void> {
    const request = { of: { operator }, reason: "not now" };
    await this.#door.order({ word: "halt", tool: "set-halt", request, as: "admin" });
  }

  async lift(): Promise<void> {
    for (const { halt_id } of await this.t.kernel.halts(1))
      await this.#door.order({ word: "lift", tool: "lift-halt", request: { halt_id }, as: "admin" });
    await this.t.clock.settle();
  }

  async emit(name: string, key: string): Promise<void> {
    await this.#door.order({ word: "emit", tool: "emit-event", request: { name, key } });
    await this.t.clock.settle();
  }

  /** Pauses the workflow and has it go on at once; one that has ended is not paused. */
  async pauseAndResume(): Promise<void> {
    const { state } = await this.view();
    if (isTerminal(state) || isCancelled(state)) return;
    await this.#order("pause", "pause-workflow");
    await this.#order("resume", "resume-workflow");
  }

  view(): Promise<WorkflowState> {
    return this.#door.read(this.id);
  }

  async events(): Promise<readonly LedgerEvent[]> {
    const events: LedgerEvent[] = [];
    for await (const event of this.t.kernel.events(this.id, { live: false })) events.push(event);
    return events;
  }

  /** Ends all that the walk has left, so that the next one finds nothing of it. */
  async [Symbol.asyncDispose](): Promise<void> {
    const principal = { tenant_id: 1, principal: { type: "user", id: "root", role: "admin" } } as const;
    for (const { halt_id } of await this.t.kernel.halts(1)) await this.t.kernel.lift({ ...principal, halt_id });
    for (const id of this.#ids) await this.t.kernel.cancel(id, principal).catch(() => undefined);
    this.script.reset();
    await this.t.clock.settle();
  }
}
