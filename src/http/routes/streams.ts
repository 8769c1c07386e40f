/**
 * The three streams of a workflow as server-sent events (seed 003 section 4; A-42).
 *
 * T1  A stream goes on after `Last-Event-ID`, or `?after=`, without gap or repeat, whichever process answers.
 * T2  It closes after the terminal event; asked again from its end it answers 204, which ends a client's reconnecting.
 * T3  Who may not read, and what is not there, is said before anything is streamed.
 */
import type { z } from "zod";
import { kernelError } from "../../contract/error-codes.ts";
import { KernelErrorException, raise } from "../../contract/kernel-error.ts";
import { moduleRef } from "../../contract/module-ref.ts";
import { isTerminal } from "../../contract/workflow.ts";
import { AssistantDelta, type Channels, type Kernel, KernelProgress, LedgerEvent } from "../../index.ts";
import { addRoute, type Route } from "../add-route.ts";
import { type Call, type Edge, workflowOf } from "../edge.ts";
import type { HttpCaller } from "../http-options.ts";
import { readSequence, sequenceQuery } from "../read-query.ts";
import { sseStream } from "../sse-stream.ts";
import { readScope, requireReader } from "./reads.ts";

const streamRef = moduleRef(0, "http", "stream");

interface ChannelTold {
  /** The name of its events. */
  readonly event: string;
  readonly operation: string;
  readonly summary: string;
  /** The data of one event. */
  readonly data: z.ZodType;
}

const channels: { readonly [C in keyof Channels]: ChannelTold } = {
  events: {
    event: "kernel.event",
    operation: "streamEvents",
    summary: "A workflow's ledger events as they come",
    data: LedgerEvent,
  },
  progress: {
    event: "kernel.progress",
    operation: "streamProgress",
    summary: "How far a workflow is, each time that it changes",
    data: KernelProgress,
  },
  assistant: {
    event: "kernel.assistant.delta",
    operation: "streamAssistant",
    summary: "What a person reads while the workflow runs: pieces of text, drafts, questions, the end",
    data: AssistantDelta,
  },
};
type Channel = keyof Channels;

const routeOf = (channel: Channel): Route => {
  const { event, operation, summary, data } = channels[channel];
  return {
    method: "get",
    path: `/v1/kernel/stream/:id/${channel}`,
    operation,
    summary,
    needs: readScope,
    query: sequenceQuery,
    resumable: true,
    answers: {
      200: {
        description: `Server-sent events called \`${event}\`; \`id\` is the ledger's sequence. The stream ends with the workflow.`,
        mediaType: "text/event-stream",
        schema: data,
      },
      204: { description: "The workflow has ended and there is nothing after the cursor." },
    },
  };
};

/** How many streams are open. */
interface Count {
  open: number;
}

export function addStreams(edge: Edge): void {
  const count: Count = { open: 0 };
  for (const channel of Object.keys(channels) as Channel[])
    addRoute(edge, routeOf(channel), (call) => openStream(call, edge, { channel, count }));
}

async function openStream(
  call: Call,
  edge: Edge,
  { channel, count }: { readonly channel: Channel; readonly count: Count },
): Promise<Response> {
  const { kernel, options } = edge;
  const reading = {
    channel,
    workflowId: workflowOf(call),
    after: readSequence(call),
    caller: await requireReader(call, edge),
  };
  if (await isOver(kernel, reading)) return new Response(null, { status: 204 });
  // Nobody would read, or cancel, the body of an answer to HEAD.
  if (call.req.raw.method === "HEAD") return new Response(null, { headers: streamHeaders });
  takePlace(count, options.limits.maxStreams);
  const stop = new AbortController();
  const { workflowId, after, caller } = reading;
  const items = kernel.channel(channel, workflowId, { after, signal: stop.signal }, caller);
  const onEnd = (): void => {
    count.open -= 1;
    stop.abort();
  };
  const stream = sseStream(items, { event: channels[channel].event, ...options, onEnd });
  return new Response(stream, { headers: streamHeaders });
}

const streamHeaders = {
  "content-type": "text/event-stream",
  "cache-control": "no-cache, no-transform",
  "x-accel-buffering": "no",
} as const;

function takePlace(count: Count, maxStreams: number): void {
  if (count.open >= maxStreams)
    raise(
      kernelError("T0_HTTP_STREAM_LIMIT", `${count.open} streams are open, as many as may be`, streamRef, {
        detail: { maxStreams },
      }),
    );
  count.open += 1;
}

interface Reading {
  readonly channel: Channel;
  readonly workflowId: string;
  readonly after: number;
  readonly caller: HttpCaller;
}

/** Whether the workflow has ended and the channel holds nothing after the cursor. @throws T4_WORKFLOW_NOT_FOUND. */
async function isOver(kernel: Kernel, { channel, workflowId, after, caller }: Reading): Promise<boolean> {
  const rest = kernel.channel(channel, workflowId, { after, live: false }, caller);
  const { done } = await rest.next();
  await rest.return();
  return done === true && hasEnded(kernel, workflowId, caller);
}

/** A request that was refused has a log, of one event, and no state: it has ended. */
async function hasEnded(kernel: Kernel, workflowId: string, caller: HttpCaller): Promise<boolean> {
  try {
    return isTerminal((await kernel.workflow(workflowId, caller)).state);
  } catch (thrown) {
    if (thrown instanceof KernelErrorException && thrown.error.code === "T4_WORKFLOW_NOT_FOUND") return true;
    throw thrown;
  }
}
