/**
 * What the kernel's methods are passed, read once where it comes in: a value of another type, and an option that no method
 * has, is refused with each thing that is wrong.
 *
 * Owns: the shape of each argument. Never: the requests and records that are read as JSON behind it, who may, what is there.
 * C1  Once the kernel has stopped, its ledger is closed: what would read it says that the kernel has stopped.
 * C2  An argument behind the last one is refused: it is an option that the method would pass over.
 * C3  A promise rejects, a stream throws when its first item is asked for, and what answers at once throws.
 */
import { z } from "zod";
import { Caller } from "../contract/auth-context.ts";
import { type CapabilityDefinition, CapabilityPackage } from "../contract/capability.ts";
import { hostFunction as fn } from "../contract/host-object.ts";
import { TenantId } from "../contract/ids.ts";
import { type KeysOf, readStrictly } from "../contract/known-keys.ts";
import { moduleRef } from "../contract/module-ref.ts";
import type { CapabilityClient } from "./capability-client.ts";
import type { AtSequence, Channels, FeedOptions, Follow, Kernel } from "./kernel-interface.ts";

/** The arguments of a method by name, in order. */
type Arguments = Readonly<Record<string, z.ZodType>>;
type Methods<T> = { readonly [K in keyof T]?: Arguments };

const signal = z.custom<AbortSignal>((value) => value instanceof AbortSignal, "must be an AbortSignal");
const position = z.int().nonnegative().optional();

const caller = Caller.optional();
const named = { workflowId: z.string() };
const read = { ...named, caller };
const told = { signal: signal.optional(), live: z.boolean().optional(), onCaughtUp: fn.optional() };
const follow = z.strictObject({ after: position, ...told } satisfies KeysOf<Follow>).optional();
const feedOptions = z
  .strictObject({
    after: position,
    only: z.literal("gates").optional(),
    events: z.boolean().optional(),
    intent_type: z.string().optional(),
    ...told,
  } satisfies KeysOf<FeedOptions>)
  .optional();
const at = z
  .strictObject({ at: z.int().min(1, "must be a sequence, from 1").optional() } satisfies KeysOf<AtSequence>)
  .optional();
const request = z.unknown();
const { shape: ofPackage } = CapabilityPackage.pick({ intentType: true, version: true, outcomes: true });

const promised: Methods<Kernel> = {
  submit: { request },
  decideGate: { ...named, request },
  withdrawVote: { ...named, request },
  delegateGate: { ...named, request },
  retry: { ...named, request },
  cancel: { ...named, request },
  workflow: { ...read, options: at },
  workflows: { filter: request, caller },
  gates: { filter: request, caller },
  gate: { ...named, gateId: z.string(), caller },
  outcomes: read,
  actions: read,
  authorize: { caller: Caller, scope: z.string() },
  execute: named,
  trace: read,
  explain: { ...read, options: at },
  audit: read,
  attachReport: { ...named, report: request, caller },
  verify: {
    workflowId: z.string().optional(),
    check: z.strictObject({ keys: fn.optional() }).optional(),
    caller,
  },
  replay: read,
  deliveries: {},
  redeliver: { notifier: z.string() },
  ready: {},
  lag: {},
  ask: { tier: request, signal: request },
};

/** Also of a kernel that has stopped: how a workflow stood that never came to rest is still known. */
const lasting: Methods<Kernel> = {
  settled: named,
  stop: { options: z.strictObject({ drainMs: z.number().nonnegative().optional() }).optional() },
};

const streamed: Methods<Kernel> = {
  events: { ...named, options: follow, caller },
  progress: { ...named, options: follow, caller },
  assistant: { ...named, options: follow, caller },
  channel: {
    name: z.enum(["events", "progress", "assistant"] satisfies (keyof Channels)[]),
    ...named,
    options: follow,
    caller,
  },
  feed: { options: feedOptions, caller },
  whatIf: { asked: request, caller },
  doctor: { asked: request, caller },
  evidence: { ...read, options: z.strictObject({ reports: z.array(z.unknown()).optional() }).optional() },
  export: read,
};

const immediate: Methods<Kernel> = {
  of: { capability: z.looseObject(ofPackage) },
  findOperator: { name: z.string(), version: z.string().optional() },
  getCapability: { intentType: z.string(), version: z.string().optional() },
  registerCapability: { capability: request },
  registerOperator: { operator: request },
  capabilities: {},
  machines: {},
  vitals: {},
  lifecycles: named,
};

const memory: Methods<Kernel["memory"]> = {
  write: { record: request },
  sync: { request, caller },
  changes: { query: request, caller },
};

const documents: Methods<Kernel["documents"]> = {
  record: { record: request },
};

const tokens: Methods<Kernel["tokens"]> = {
  events: read,
  toJsonl: read,
  capabilities: { workflowId: z.string().optional(), caller },
  governor: read,
  charges: { tenantId: TenantId, caller },
  budgets: { tenantId: TenantId, caller },
};

const ofOnePackage: { readonly [K in keyof CapabilityClient<CapabilityDefinition>]: Arguments } = {
  submit: { request },
  workflow: read,
  settled: named,
  execute: named,
  outcomes: read,
  gates: read,
  decideGate: { ...named, request },
};

type Method = (...given: readonly unknown[]) => unknown;
type Refuse = (thrown: unknown) => unknown;

const reject: Refuse = (thrown) => Promise.reject(thrown);
const fail: Refuse = (thrown) => {
  throw thrown;
};
// biome-ignore lint/correctness/useYield: it throws when its first item is asked for
async function* end(thrown: unknown): AsyncGenerator<never, never, void> {
  throw thrown;
}

/** The same methods, behind the check of what they are passed. `requireOpen` throws where the ledger is closed. */
export function checkArguments(kernel: Kernel, requireOpen: () => void): Kernel {
  const reads = { refuse: reject, requireOpen };
  return {
    ...kernel,
    ...guard(kernel, promised, reads),
    ...guard(kernel, streamed, { refuse: end, requireOpen }),
    ...guard(kernel, immediate, { refuse: fail }),
    ...guard(kernel, lasting, { refuse: reject }),
    documents: { ...kernel.documents, ...guard(kernel.documents, documents, reads) },
    memory: { ...kernel.memory, ...guard(kernel.memory, memory, reads) },
    tokens: { ...kernel.tokens, ...guard(kernel.tokens, tokens, reads) },
  };
}

/** The same client for one package, behind the check of what it is passed. */
export function checkClientArguments<C extends CapabilityDefinition>(client: CapabilityClient<C>): CapabilityClient<C> {
  return { ...client, ...guard(client, ofOnePackage, { refuse: reject }) } as CapabilityClient<C>;
}

interface Guard {
  readonly refuse: Refuse;
  readonly requireOpen?: () => void;
}

function guard<T extends object>(object: T, methods: Methods<T>, by: Guard): Partial<T> {
  const guarded = Object.entries(methods).map(([name, shape]) => {
    const method = object[name as keyof T] as Method;
    return [name, guardMethod(name, method, { shape: shape as Arguments, ...by })];
  });
  return Object.fromEntries(guarded) as Partial<T>;
}

function guardMethod(
  what: string,
  method: Method,
  { shape, refuse, requireOpen }: Guard & { readonly shape: Arguments },
): Method {
  const names = Object.keys(shape);
  const schema = z.strictObject(shape);
  const source = moduleRef(0, "kernel", what);
  return (...given) => {
    try {
      requireOpen?.();
      readStrictly(schema, nameArguments(names, given), { what, source });
    } catch (thrown) {
      return refuse(thrown);
    }
    return method(...given);
  };
}

/** The arguments by name. One behind the last gets a name that the strict schema refuses; undefined stands for none. */
function nameArguments(names: readonly string[], given: readonly unknown[]): Readonly<Record<string, unknown>> {
  const surplus = given.slice(names.length).map((value, i) => [`argument ${names.length + i + 1}`, value] as const);
  const named = names.map((name, i) => [name, given[i]] as const);
  return Object.fromEntries([...named, ...surplus.filter(([, value]) => value !== undefined)]);
}
