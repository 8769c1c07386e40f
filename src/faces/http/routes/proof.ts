/**
 * Proofs that a workflow's record is complete: its evidence, for others to verify, and its replay.
 *
 * 1.  Each is of one workflow, and for callers who may read it. Audit and verification are views of it (reads.ts).
 * 2.  A replay decides a whole workflow again: a caller has one at a time.
 */
import { reads } from "../../../api/reads.ts";
import { addRoute, offer, type Route } from "../add-route.ts";
import { answerJson } from "../answer.ts";
import { type Edge, workflowOf, workflowPath } from "../edge.ts";
import { requireReader } from "./reads.ts";

const evidenceRoute: Route = {
  method: "get",
  ...offer(reads.evidence),
  path: `${workflowPath}/${reads.evidence.word}`,
  answers: { 200: { description: "JSON Lines.", mediaType: "application/jsonl", schema: reads.evidence.answer } },
};

const replayRoute: Route = {
  method: "post",
  ...offer(reads.replay),
  path: `${workflowPath}/${reads.replay.word}`,
  answers: { 200: { description: "What came out, and the first difference.", schema: reads.replay.answer } },
};

export function addProof(edge: Edge): void {
  const { kernel } = edge;
  addRoute(edge, evidenceRoute, async (call) => {
    const caller = await requireReader(call, edge);
    return answerLines(kernel.evidence(workflowOf(call), caller));
  });
  addRoute(edge, replayRoute, async (call) => {
    const caller = await requireReader(call, edge);
    const free = edge.heavy.take(caller);
    try {
      return answerJson(await kernel.replay(workflowOf(call), caller));
    } finally {
      free();
    }
  });
}

/** Answers line by line, as the client reads. Refusals come before the first line. */
async function answerLines(lines: AsyncGenerator<string, void, void>): Promise<Response> {
  const encoder = new TextEncoder();
  let next = await lines.next();
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      if (next.done === true) return controller.close();
      controller.enqueue(encoder.encode(`${next.value}\n`));
      next = await lines.next();
    },
    cancel: async () => void (await lines.return()),
  });
  const headers = {
    "content-type": "application/jsonl",
    "content-disposition": "attachment",
  };
  return new Response(body, { headers });
}
