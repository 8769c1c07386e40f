/**
 * Adds a search as a route: findings as they are found, then the counts. It only reads.
 *
 * 1.  It reads much: a caller has one at a time.
 * 2.  Findings beyond `most` are counted and not returned.
 */
import { z } from "zod";
import type { Search } from "../../../api/operation.ts";
import type { Caller } from "../../../contract/auth-context.ts";
import { readRequest } from "../../../contract/known-keys.ts";
import type { ModuleRef } from "../../../contract/module-ref.ts";
import { addRoute, offer, type Route } from "../add-route.ts";
import { answerStream, type Opening } from "../answer-stream.ts";
import type { Edge } from "../edge.ts";
import { readJsonBody } from "../read-body.ts";
import type { StreamItem } from "../sse-messages.ts";
import { requireReader } from "./reads.ts";

type Found = AsyncGenerator<object, object, void>;

interface SearchRoute<A extends z.ZodType> extends Pick<Route, "bodyOptional" | "names"> {
  readonly asked: A;
  readonly most: number;
  /** Begins the search. Refusals come before anything is sent. */
  readonly find: (asked: z.output<A>, caller: Caller) => Found | Promise<Found>;
  readonly source: ModuleRef;
}

const reported = z.int().describe("Findings that were told; there may be more.");

export function addSearch<A extends z.ZodType>(edge: Edge, search: Search, route: SearchRoute<A>): void {
  const { asked, most, find, source, ...more } = route;
  const { word, answer: finding } = search;
  const event = `kernel.${word}`;
  const report = z.object({ kind: z.literal("report"), ...search.report.shape, reported });
  const answer = {
    description: `Server-sent events called \`${event}\`: findings, and the report at the end.`,
    mediaType: "text/event-stream",
    schema: z.union([finding, report]),
    event,
  };
  const address = { ...offer(search), method: "post", path: `/v1/kernel/${word}` } as const;
  addRoute(edge, { ...address, ...more, body: asked, answers: { 200: answer } }, async (call) => {
    const caller = await requireReader(call, edge);
    const body = await readJsonBody(call.req.raw, edge.options.limits);
    const found = await find(readRequest(asked, body, { what: word, source }), caller);
    const open = ({ signal }: Opening) => {
      signal.addEventListener("abort", edge.heavy.take(caller));
      return describeFound(found, most);
    };
    return answerStream(call, edge, { event, open });
  });
}

async function* describeFound(found: Found, most: number): AsyncGenerator<StreamItem, void, void> {
  for (let reported = 0; ; ) {
    const next = await found.next();
    if (next.done === true) {
      yield { sequence: null, item: { kind: "report", ...next.value, reported } };
      return;
    }
    if (reported < most) {
      reported += 1;
      yield { sequence: null, item: next.value };
    }
  }
}
