/**
 * A job: a request that is answered when its workflow is done, if that is soon.
 *
 * 1.  It is a submit like any other, and under its Idempotency-Key the same workflow: asked again it waits for that
 *     one, and answers as it stands then.
 * 2.  The waiting ends with the workflow's rest, its time, or the client; a workflow that has begun goes on. It counts
 *     as a stream.
 * 3.  The answer holds outcomes: a caller who may not read them is refused before anything begins.
 */
import { submit } from "../../../api/commands.ts";
import { readScope } from "../../../api/reads.ts";
import { withoutScopes } from "../../../contract/auth-context.ts";
import { JobPending, JobRequest, JobResponse } from "../../../contract/http.ts";
import { readRequest } from "../../../contract/known-keys.ts";
import { moduleRef } from "../../../contract/module-ref.ts";
import { isTerminal } from "../../../contract/workflow.ts";
import type { SubmitResponse, WorkflowState } from "../../../index.ts";
import { resultToHttpResponse } from "../../../protocol/result-to-http-response.ts";
import { waitForRest } from "../../../protocol/wait-for-rest.ts";
import { addRoute, type Route } from "../add-route.ts";
import { answerJson, sendProblem } from "../answer.ts";
import { type Call, type Edge, locationOf } from "../edge.ts";
import { resultOfJob } from "../job-result.ts";
import { runSubmit, submitInNameOf } from "../kernel-commands.ts";
import { readKey, withKey } from "../read-key.ts";
import { readWait } from "../read-wait.ts";
import { readCommand } from "./commands.ts";
import { requireReader } from "./reads.ts";

const jobRoute: Route = {
  method: "post",
  path: "/v1/kernel/jobs",
  operation: "runJob",
  summary: "Asks, waits for the workflow for a while, and answers with what it gave",
  description:
    "`Prefer: wait=SECONDS` limits the wait. The workflow continues whatever happens to the request; the same " +
    "under the same Idempotency-Key waits for the same workflow. A failed job is a problem, with its error's status.",
  needs: submit.scope,
  alsoNeeds: readScope,
  idempotent: true,
  waits: true,
  body: JobRequest,
  answers: {
    200: { description: "Done: its outcomes, and its answer in words.", schema: JobResponse, located: true },
    202: {
      description: "It still runs, or waits for a person; the body says which.",
      schema: JobPending,
      located: true,
    },
  },
};

export function addJobs(edge: Edge): void {
  addRoute(edge, jobRoute, async (call) => {
    const { maxWaitMs } = edge.options.limits;
    const waitMs = Math.min(readWait(call.req.header("prefer")) ?? maxWaitMs, maxWaitMs);
    await requireReader(call, edge);
    const job = readJob(await readCommand(call, edge, submit.scope));
    // The availability of a place is checked before anything begins.
    const free = edge.places.take(call.get("caller"));
    try {
      const accepted = await submitJob(call, edge, job);
      const workflow = await waitAtMost(call, edge, { workflowId: accepted.workflow_id, waitMs });
      return answerJob({ job, accepted, workflow });
    } finally {
      free();
    }
  });
}

/** Reads a JobRequest; any other body belongs to submit. */
function readJob(body: unknown): JobRequest {
  return readRequest(JobRequest, body, { what: "job", source: moduleRef(0, "http", "jobs") });
}

async function submitJob(call: Call, { kernel }: Edge, job: JobRequest): Promise<SubmitResponse> {
  const named = submitInNameOf(call.get("caller"), job, call.get("trace"));
  const body = withKey(named, readKey(call.req.header("idempotency-key")));
  return runSubmit(kernel, body, call.req.raw.signal);
}

interface Wait {
  readonly workflowId: string;
  readonly waitMs: number;
}

/** Returns the workflow at its rest, or as it is when its time is over or the client has left. */
async function waitAtMost(call: Call, { kernel, options }: Edge, { workflowId, waitMs }: Wait): Promise<WorkflowState> {
  const caller = withoutScopes(call.get("caller"));
  const { signal: gone } = call.req.raw;
  const stop = new AbortController();
  const end = (): void => stop.abort();
  const cancel = options.clock.setTimer(options.clock.now() + waitMs, end, true);
  gone.addEventListener("abort", end);
  if (gone.aborted || waitMs === 0) end();
  try {
    return await waitForRest({ kernel, caller }, workflowId, { signal: stop.signal });
  } catch (thrown) {
    if (!stop.signal.aborted) throw thrown;
    return await kernel.workflow(workflowId, caller);
  } finally {
    cancel();
    gone.removeEventListener("abort", end);
  }
}

interface JobAnswer {
  readonly job: JobRequest;
  readonly accepted: SubmitResponse;
  readonly workflow: WorkflowState;
}

function answerJob({ job, accepted, workflow }: JobAnswer): Response {
  const location = locationOf(accepted);
  const { state } = workflow;
  if (!isTerminal(state)) {
    const pending: JobPending = { ...accepted, status: state === "waiting_for_user" ? state : "running" };
    return answerJson(pending, 202, { location });
  }
  const { correlation_id: trace_id } = accepted;
  const { query: _, ...asked } = job;
  const body = resultToHttpResponse(resultOfJob(workflow), { job: { trace_id, ...asked }, instance: trace_id });
  return "success" in body ? answerJson(body, 200, { location }) : sendProblem(body, { location });
}
