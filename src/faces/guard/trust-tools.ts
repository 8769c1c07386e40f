/**
 * Trust in tools: which definitions were accepted, and the workflow at whose gate another one waits.
 *
 * Owns: a copy of what the ledger holds, for speed. Never: accepts a changed tool by itself.
 * 1.  A tool that is new is accepted as it is, unless the guard is strict; a changed one waits for a person, and is
 *     neither listed nor called meanwhile. What was accepted once stays accepted.
 * 2.  Two tools of one name, and a definition beyond the limit, are never accepted.
 */
import type { Tool } from "@modelcontextprotocol/server";
import { digest } from "../../contract/digest.ts";
import type { JsonObject } from "../../contract/json.ts";
import type { Caller, Kernel, WorkflowState } from "../../index.ts";
import { defaultMcpClientLimits } from "../../packages/operators/mcp/mcp-limits.ts";
import { waitForRest } from "../../protocol/wait-for-rest.ts";
import { type AcceptInput, acceptIntent, type Definition, defineSeen } from "./accept-package.ts";

/** A tool that may not be used, and why; `workflow_id` is that of the gate, where there is one. */
export interface Refused {
  readonly reason: string;
  readonly workflow_id?: string;
}

interface Known {
  /** The accepted definitions of each tool, the newest last. */
  readonly accepted: Map<string, Definition[]>;
  /** The workflows that wait for a person, or that a person rejected, by name and digest. */
  readonly asked: Map<string, string>;
}

export interface TrustedKernel {
  readonly kernel: Kernel;
  readonly caller: Caller;
}

/** The time within which a workflow reaches its gate. */
const restMs = 10_000;
/** The characters of the definitions that one workflow accepts. */
const maxChars = 100_000;

export class ToolTrust {
  readonly #strict: boolean;
  readonly #known = new Map<string, Promise<Known>>();

  constructor(strict: boolean) {
    this.#strict = strict;
  }

  /** Judges tools as a server lists them, and returns those that may not be used. New ones are recorded. */
  async judge(at: TrustedKernel, server: string, tools: readonly Tool[]): Promise<ReadonlyMap<string, Refused>> {
    const known = await this.#read(at, server);
    const refused = new Map<string, Refused>();
    const unseen: Definition[] = [];
    const counts = Map.groupBy(tools, ({ name }) => name);
    for (const tool of tools) {
      const fault = faultOf(tool, counts.get(tool.name)?.length ?? 1);
      const seen = defineSeen(tool);
      if (fault !== null) refused.set(tool.name, { reason: fault });
      else if (isAccepted(known, seen)) continue;
      else if (this.#strict || known.accepted.has(tool.name) || isAsked(known, seen)) {
        const refusal = await this.#ask(at, { server, known, seen });
        if (refusal !== null) refused.set(tool.name, refusal);
      } else unseen.push(seen);
    }
    for (const some of chunksOf(unseen)) await this.#accept(at, { server, known, some });
    return refused;
  }

  #read(at: TrustedKernel, server: string): Promise<Known> {
    const key = JSON.stringify([at.caller.tenant_id, server]);
    const reading = this.#known.get(key) ?? readKnown(at, server);
    this.#known.set(key, reading);
    reading.catch(() => this.#known.delete(key));
    return reading;
  }

  async #accept(
    at: TrustedKernel,
    { server, known, some }: { readonly server: string; readonly known: Known; readonly some: readonly Definition[] },
  ): Promise<void> {
    await submit(at, { server, tools: [...some], asks: false });
    for (const one of some) add(known, one);
  }

  /** Asks a person, once for each definition. Returns null if it has been accepted meanwhile. */
  async #ask(
    at: TrustedKernel,
    { server, known, seen }: { readonly server: string; readonly known: Known; readonly seen: Definition },
  ): Promise<Refused | null> {
    const before = known.accepted.get(seen.name)?.at(-1)?.definition;
    const key = askedKey(seen);
    const workflow_id =
      known.asked.get(key) ??
      (await submit(at, { server, tools: [seen], asks: true, ...(before !== undefined && { before }) }));
    known.asked.set(key, workflow_id);
    const { state } = await waitForRest(at, workflow_id, { signal: AbortSignal.timeout(restMs) });
    if (state === "completed") {
      add(known, seen);
      return null;
    }
    const what = before === undefined ? "is new" : "is not what it was when it was accepted";
    const isRejected = state === "cancelled" || state === "failed";
    return { reason: isRejected ? `${what}, and a person rejected it` : what, workflow_id };
  }
}

/** Returns why a tool is never accepted; null for one that may be. */
function faultOf(tool: Tool, count: number): string | null {
  if (count > 1) return "is listed twice by its server";
  return JSON.stringify(tool).length > defaultMcpClientLimits.maxToolChars ? "has too long a definition" : null;
}

const askedKey = ({ name, digest: seen }: Definition): string => JSON.stringify([name, seen]);

const isAsked = ({ asked }: Known, seen: Definition): boolean => asked.has(askedKey(seen));

const isAccepted = ({ accepted }: Known, { name, digest: seen }: Definition): boolean =>
  accepted.get(name)?.some((one) => one.digest === seen) === true;

const add = ({ accepted }: Known, one: Definition): void =>
  void accepted.set(one.name, [...(accepted.get(one.name) ?? []), one]);

const threadOf = (server: string): string => `guard-tools:${server}`;

async function submit({ kernel, caller }: TrustedKernel, inputs: AcceptInput): Promise<string> {
  const idempotency_key = `guard-tools:${digest(inputs as unknown as JsonObject)}`;
  const intent_hint = { intent_type: acceptIntent, inputs: inputs as unknown as JsonObject };
  return (await kernel.submit({ ...caller, thread_id: threadOf(inputs.server), intent_hint, idempotency_key }))
    .workflow_id;
}

/** Reads what the ledger holds of a server's tools. */
async function readKnown({ kernel, caller }: TrustedKernel, server: string): Promise<Known> {
  const known: Known = { accepted: new Map(), asked: new Map() };
  for (let after: string | undefined; ; ) {
    const page = await kernel.workflows(
      { thread_id: threadOf(server), sort: "oldest", limit: 100, ...(after !== undefined && { after }) },
      caller,
    );
    for (const { workflow_id } of page) learn(known, await kernel.workflow(workflow_id, caller));
    after = page.at(-1)?.workflow_id;
    if (page.length < 100) return known;
  }
}

function learn(known: Known, { workflow_id, state, intent }: WorkflowState): void {
  const { tools, asks } = intent.inputs as unknown as AcceptInput;
  if (!asks || state === "completed") for (const one of tools) add(known, one);
  if (asks) for (const one of tools) known.asked.set(askedKey(one), workflow_id);
}

function chunksOf(definitions: readonly Definition[]): readonly (readonly Definition[])[] {
  const chunks: Definition[][] = [];
  let left = 0;
  for (const one of definitions) {
    const size = JSON.stringify(one).length;
    if (size > left) {
      chunks.push([]);
      left = maxChars;
    }
    chunks.at(-1)?.push(one);
    left -= size;
  }
  return chunks;
}
