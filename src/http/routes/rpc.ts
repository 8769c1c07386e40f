/**
 * JSON-RPC 2.0 at one address: the same calls as the other routes, by method.
 *
 * J1  What the envelope or the kernel refuses is an error of JSON-RPC under status 200; notifications alone get 204.
 * J2  A batch is done and answered in its order, each message for itself.
 * J3  Ids are texts in our records; a whole number is taken as well, and comes back as it was.
 */
import { kernelError } from "../../contract/error-codes.ts";
import { isPlainObject, type JsonObject } from "../../contract/json.ts";
import { KernelErrorException, raise } from "../../contract/kernel-error.ts";
import { moduleRef } from "../../contract/module-ref.ts";
import { RpcAnswer, RpcCall, type RpcNotification, type RpcRequest } from "../../contract/rpc.ts";
import type { Kernel } from "../../index.ts";
import { createErrorResponse, createSuccessResponse, tryValidateMessageEnvelope } from "../../protocol/envelope.ts";
import { errorToJsonrpcError } from "../../protocol/error-to-jsonrpc-error.ts";
import { addRoute, type Route } from "../add-route.ts";
import { answerJson, errorOf } from "../answer.ts";
import { requireCredentialScope } from "../claim-caller.ts";
import type { Call, Edge } from "../edge.ts";
import type { HttpCaller } from "../http-options.ts";
import { inNameOf, submit, submitScope, toSubmit, workflowCommands } from "../kernel-commands.ts";
import { parseJson, readBodyText } from "../read-body.ts";

const rpcRef = moduleRef(0, "http", "rpc");
const codes = { parse: -32700, invalid: -32600, method: -32601 } as const;

/** Who asks, and the request's id. */
interface Asker {
  readonly caller: HttpCaller;
  readonly trace: string;
}
type Method = (kernel: Kernel, params: JsonObject, asker: Asker) => Promise<object>;

/** `kernel/submit`, `kernel/gate` and so on; what concerns a workflow names it as `workflow_id`. */
const methods: ReadonlyMap<string, Method> = new Map<string, Method>([
  [
    "kernel/submit",
    (kernel, params, { caller, trace }) => submit(kernel, inNameOf(caller, submitScope, toSubmit(params, trace))),
  ],
  [
    "kernel/outcomes",
    async (kernel, params, { caller }) => {
      requireCredentialScope(caller, "outcome:read");
      return kernel.outcomes(takeWorkflow(params).workflowId, caller);
    },
  ],
  ...Object.entries(workflowCommands).map(
    ([name, { needs, run }]) =>
      [
        `kernel/${name}`,
        async (kernel: Kernel, params: JsonObject, { caller }: Asker) => {
          const { workflowId, body } = takeWorkflow(params);
          return run(kernel, workflowId, inNameOf(caller, needs, body));
        },
      ] as const,
  ),
]);

function takeWorkflow({ workflow_id: workflowId, ...body }: JsonObject) {
  if (typeof workflowId === "string") return { workflowId, body };
  return raise(kernelError("T0_VALIDATION_SCHEMA_MISMATCH", "params.workflow_id is the workflow's id", rpcRef));
}

const rpcRoute: Route = {
  method: "post",
  path: "/rpc",
  operation: "callRpc",
  summary: "JSON-RPC 2.0: the same calls as the other addresses, by method, alone or in batches",
  needs: null,
  body: RpcCall,
  answers: {
    200: { description: "The answer, or those of a batch; refusals are errors of JSON-RPC.", schema: RpcAnswer },
    204: { description: "There were notifications alone." },
  },
};

export function addRpc(edge: Edge): void {
  addRoute(edge, rpcRoute, async (call) => {
    const answer = await answerText(await readBodyText(call.req.raw, edge.options.limits), call, edge);
    return answer === null ? new Response(null, { status: 204 }) : answerJson(answer);
  });
}

async function answerText(text: string, call: Call, edge: Edge): Promise<object | null> {
  const { maxDepth, maxBatch } = edge.options.limits;
  const parsed = tryParse(text, maxDepth);
  if (parsed === null) return createErrorResponse(null, codes.parse, "parse error: the body is not JSON");
  if (!Array.isArray(parsed.value)) return answerMessage(parsed.value, call, edge);
  const { length } = parsed.value;
  if (length === 0 || length > maxBatch)
    return createErrorResponse(null, codes.invalid, `invalid request: a batch has 1 to ${maxBatch} messages`);
  const answers: (object | null)[] = [];
  for (const message of parsed.value) answers.push(await answerMessage(message, call, edge));
  const said = answers.filter((answer) => answer !== null);
  return said.length === 0 ? null : said;
}

function tryParse(text: string, maxDepth: number): { readonly value: unknown } | null {
  try {
    return { value: parseJson(text, maxDepth) };
  } catch (thrown) {
    if (thrown instanceof KernelErrorException) return null;
    throw thrown;
  }
}

/** The answer to one message; null for a notification. */
async function answerMessage(raw: unknown, call: Call, edge: Edge): Promise<object | null> {
  const given = isPlainObject(raw) && Number.isSafeInteger(raw["id"]) ? raw["id"] : null;
  const checked = tryValidateMessageEnvelope(given === null ? raw : { ...(raw as JsonObject), id: String(given) });
  if ("refusal" in checked) return { ...checked.refusal, id: given ?? checked.refusal.id };
  const { message } = checked;
  if (!("method" in message)) return createErrorResponse(null, codes.invalid, "invalid request: nothing was asked");
  const answer = await answerRequest(message, call, edge);
  return "id" in message ? { ...answer, id: given ?? message.id } : null;
}

async function answerRequest(message: RpcRequest | RpcNotification, call: Call, edge: Edge): Promise<object> {
  const id = "id" in message ? message.id : "notification";
  const method = methods.get(message.method);
  if (method === undefined) return createErrorResponse(id, codes.method, `there is no method ${message.method}`);
  try {
    const asker = { caller: call.get("caller"), trace: call.get("trace") };
    return createSuccessResponse(id, { ...(await method(edge.kernel, message.params ?? {}, asker)) });
  } catch (thrown) {
    const { code, message: text, data } = errorToJsonrpcError(errorOf(thrown, edge.options.logger));
    return createErrorResponse(id, code, text, data);
  }
}
