/**
 * The three streams of a workflow, the messages of one to an inspector, and the feed of all workflows of a tenant, as
 * server-sent events.
 *
 * 1.  A stream continues after `Last-Event-ID`, or `?after=`, without gap or repeat, whichever process answers.
 * 2.  A workflow's stream closes after the terminal event; asked again from its end it answers 204, which ends a
 *     client's reconnecting. The feed never ends.
 * 3.  A missing right and a missing workflow are reported before anything is streamed.
 */
import { channels, readScope, reads } from "../../../api/reads.ts";
import { Inspection } from "../../../contract/inspection.ts";
import type { Channels, FeedItem } from "../../../index.ts";
import { inspectKernel } from "../../../observers/inspect/inspect-kernel.ts";
import { playAfter } from "../../../observers/inspect/play-events.ts";
import { addRoute, offer, type Route } from "../add-route.ts";
import { answerStream, type Opening } from "../answer-stream.ts";
import { type Edge, workflowOf } from "../edge.ts";
import { feedQuery, inspectQuery, readCursor, sequenceQuery } from "../read-query.ts";
import type { StreamItem } from "../sse-messages.ts";
import { requireReader } from "./reads.ts";

/** The name of each channel's events. */
const eventNames: { readonly [C in keyof Channels]: string } = {
  events: "kernel.event",
  progress: "kernel.progress",
  assistant: "kernel.assistant.delta",
};
type Channel = keyof Channels;

const routeOf = (channel: Channel): Route<typeof sequenceQuery> => {
  const event = eventNames[channel];
  return {
    ...offer(channels[channel]),
    method: "get",
    path: `/v1/kernel/stream/:id/${channels[channel].word}`,
    query: sequenceQuery,
    resumable: true,
    answers: {
      200: {
        description:
          `Server-sent events called \`${event}\`; \`id\` is the ledger's sequence. The stream ends with ` +
          `the workflow.`,
        mediaType: "text/event-stream",
        schema: channels[channel].answer,
        event,
      },
      204: { description: "The workflow has ended and there is nothing after the cursor." },
    },
  };
};

export function addStreams(edge: Edge): void {
  for (const channel of Object.keys(eventNames) as Channel[])
    addRoute(edge, routeOf(channel), async (call, query) => {
      const caller = await requireReader(call, edge);
      const after = readCursor(call, query) ?? 0;
      const open = ({ signal, onCaughtUp }: Opening) =>
        edge.kernel.channel(channel, workflowOf(call), { after, signal, onCaughtUp }, caller);
      return answerStream(call, edge, { event: eventNames[channel], open });
    });
  addRoute(edge, inspectRoute, async (call, { workflow_id, ...query }) => {
    const caller = await requireReader(call, edge);
    const after = readCursor(call, query) ?? 0;
    const open = (opening: Opening) =>
      workflow_id === undefined
        ? unnumbered(inspectKernel(edge.kernel, { caller, names: true }).watch(opening.signal))
        : playAfter(edge.kernel.events(workflow_id, opening, caller), after);
    return answerStream(call, edge, { event: "kernel.inspection", open });
  });
  addRoute(edge, feedRoute, async (call, query) => {
    const caller = await requireReader(call, edge);
    const after = readCursor(call, query);
    const options = { ...query, ...(after !== undefined && { after }) };
    const open = (opening: Opening) => numbered(edge.kernel.feed({ ...options, ...opening }, caller));
    return answerStream(call, edge, { event: "kernel.feed", open });
  });
}

const inspectRoute: Route<typeof inspectQuery> = {
  method: "get",
  path: "/v1/kernel/stream/inspect",
  operation: "streamInspection",
  summary: "Workflows as an inspector sees them: actors, what each is sent, and the states they then stand in",
  description:
    "From the first event on, without payloads and texts. The data are those that Stately's inspector reads.",
  needs: readScope,
  query: inspectQuery,
  names: true,
  resumable: true,
  answers: {
    200: {
      description:
        "Server-sent events called `kernel.inspection`. Of one workflow, the last of a ledger event has its " +
        "sequence as `id`, and the stream ends with the workflow.",
      mediaType: "text/event-stream",
      schema: Inspection,
      event: "kernel.inspection",
    },
    204: { description: "The workflow has ended and there is nothing after the cursor." },
  },
};

const feedRoute: Route<typeof feedQuery> = {
  ...offer(reads.feed),
  method: "get",
  path: `/v1/kernel/stream/${reads.feed.word}`,
  query: feedQuery,
  resumable: true,
  answers: {
    200: {
      description: "Server-sent events called `kernel.feed`; `id` is the ledger's position. The feed never ends.",
      mediaType: "text/event-stream",
      schema: reads.feed.answer,
      event: "kernel.feed",
    },
  },
};

/** Yields items without cursors: a reader that comes back starts from the beginning. */
async function* unnumbered(items: AsyncIterable<unknown>): AsyncGenerator<StreamItem, void, void> {
  for await (const item of items) yield { sequence: null, item };
}

/** Items of the feed carry their own position. */
async function* numbered(items: AsyncGenerator<FeedItem, void, void>): AsyncGenerator<StreamItem, void, void> {
  for await (const item of items) yield { sequence: item.position, item };
}
