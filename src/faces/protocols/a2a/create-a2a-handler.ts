/**
 * createA2aHandler: A2A 1.0 over JSON-RPC, for one address of the HTTP face, behind its authentication, and the agent
 * card, which anybody reads.
 *
 * 1.  The version of the protocol is checked first: a request without one means 0.3, which is not spoken here.
 * 2.  A request names no tenant but its caller's.
 */
import { type CommandScope, commandScopes, ScopedCaller } from "../../../contract/auth-context.ts";
import { kernelError } from "../../../contract/error-codes.ts";
import { raise } from "../../../contract/kernel-error.ts";
import { readRequest, readStrictly } from "../../../contract/known-keys.ts";
import { moduleRef } from "../../../contract/module-ref.ts";
import { isTerminal } from "../../../contract/workflow.ts";
import type { Kernel } from "../../../index.ts";
import { httpStatusOf, type RpcId, RpcRequest, toResult, toRpcError } from "../../../protocol/a2a-rpc.ts";
import { orUnparsed, parseJson, readBodyText } from "../../../protocol/read-body-text.ts";
import { errorOf } from "../../http/answer.ts";
import { createStreamPlaces } from "../../http/stream-places.ts";
import { type AgentContext, isGranted, readWorkflow, requireGranted, waitAwhile } from "../agent-context.ts";
import { readAgentOptions } from "../agent-options.ts";
import { streamAnswer } from "../stream-answer.ts";
import { isMethod, type MethodName, methodParams, type ParamsOf } from "./a2a-messages.ts";
import { type A2aHandlerOptions, A2aShape } from "./a2a-options.ts";
import { agentCard } from "./agent-card.ts";
import { listTasks } from "./list-tasks.ts";
import { createPushTasks, type PushTasks } from "./push-tasks.ts";
import { takeMessage } from "./send-message.ts";
import { streamTask } from "./stream-task.ts";
import { toTask } from "./task-view.ts";

/** A2A over HTTP, to be mounted at one address. */
export interface A2aHandler {
  /** Answers one request of a known caller; `trace` is the request's id. */
  readonly handle: (request: Request, caller: ScopedCaller, trace: string) => Promise<Response>;
  /** Answers with the agent card, to anybody: a callback for `/.well-known/agent-card.json`. */
  readonly card: (request: Request) => Promise<Response>;
  /** Ends the notifications that are under way; the kernel goes on. */
  readonly close: () => Promise<void>;
}

type Context = AgentContext<ReturnType<typeof readOptions>>;

const handlerRef = moduleRef(0, "a2a", "handler");
const readOptions = (kernel: Kernel, given: A2aHandlerOptions) =>
  readAgentOptions(A2aShape, "createA2aHandler", { kernel, given });

/**
 * Creates an A2A agent over a kernel, to be mounted in `createHttpApp` or a server of one's own.
 * @throws KernelErrorException T0_VALIDATION_SCHEMA_MISMATCH for bad options.
 */
export function createA2aHandler(kernel: Kernel, given: A2aHandlerOptions = {}): A2aHandler {
  const options = readOptions(kernel, given);
  const places = createStreamPlaces(options.limits);
  const push = createPushTasks({ kernel, options, places });
  return {
    async handle(request, given) {
      let id: RpcId = null;
      try {
        const caller = readStrictly(ScopedCaller, given, { what: "createA2aHandler: caller", source: handlerRef });
        const context = { kernel, options, places, caller, gone: request.signal };
        const message = await readMessage(request, context);
        id = message.id;
        requireVersion(request);
        return await answer(context, push, { ...message, url: addressOf(request, options.url) });
      } catch (thrown) {
        const error = errorOf(thrown, options.logger);
        return sendJson(toRpcError(id, error), id === null ? httpStatusOf(error) : 200);
      }
    },
    card: async (request) =>
      request.method === "GET" || request.method === "HEAD"
        ? sendJson(
            agentCard(kernel, options, { url: cardUrlOf(request, options.url), showsSkills: options.publicSkills }),
          )
        : new Response(null, { status: 405, headers: { allow: "GET, HEAD" } }),
    close: push.close,
  };
}

const sendJson = (body: object, status = 200): Response =>
  new Response(JSON.stringify(body), { status, headers: { "content-type": "application/json" } });

/** Returns the address of the agent: the one that the host states, or the one that was asked. */
function addressOf(request: Request, stated: string | undefined): string {
  const { origin, pathname } = new URL(request.url);
  return stated ?? `${origin}${pathname}`;
}

const cardUrlOf = (request: Request, stated: string | undefined): string => stated ?? new URL("/a2a", request.url).href;

/** Returns the message. @throws KernelErrorException with status 400, 405, 413 or 415. */
async function readMessage(request: Request, { options }: Context) {
  if (request.method !== "POST")
    raise(
      kernelError("T0_HTTP_METHOD_NOT_ALLOWED", `${request.method} is not for this address; it takes POST`, handlerRef),
    );
  const { limits } = options;
  const body = await orUnparsed(async () => parseJson(await readBodyText(request, limits), limits.maxDepth));
  const read = RpcRequest.safeParse(body);
  return read.success
    ? read.data
    : raise(kernelError("T0_RPC_REQUEST_INVALID", "the body is one request of JSON-RPC 2.0, and no batch", handlerRef));
}

function requireVersion({ headers }: Request): void {
  const version = headers.get("a2a-version") ?? "";
  if (/^1(?:\.\d+)?$/.test(version)) return;
  const message =
    version === "" ? "a request without A2A-Version means 0.3" : `A2A ${version.slice(0, 16)} is not spoken`;
  raise(kernelError("T0_A2A_VERSION", `${message}; this agent speaks 1.0`, handlerRef));
}

interface Asked {
  readonly id: RpcId;
  readonly method: string;
  readonly params?: unknown;
  readonly url: string;
}

/** Answers a request. @throws KernelErrorException, before anything is streamed. */
async function answer(context: Context, push: PushTasks, { id, method, params, url }: Asked): Promise<Response> {
  if (!isMethod(method)) return raise(kernelError("T0_A2A_METHOD_UNKNOWN", `there is no method ${method}`, handlerRef));
  const read = <M extends MethodName>(_name: M): ParamsOf<M> =>
    readRequest(methodParams[method], params ?? {}, { what: "params", source: handlerRef }) as ParamsOf<M>;
  requireTenant(context, read(method).tenant);
  if (method === "SendStreamingMessage") {
    const asked = read("SendStreamingMessage");
    const taskId = await sendTo(context, push, asked);
    return streamAnswer(context, (signal) => answers(context, id, streamTask(context, taskId, signal)));
  }
  if (method === "SubscribeToTask") {
    const { id: taskId } = read("SubscribeToTask");
    const { state } = await readWorkflow(context, taskId);
    if (isTerminal(state)) raise(kernelError("T0_A2A_TASK_ENDED", `the task is ${state}`, handlerRef));
    return streamAnswer(context, (signal) => answers(context, id, streamTask(context, taskId, signal)));
  }
  return sendJson(toResult(id, await methods[method](context, read(method) as never, { push, url })));
}

function requireTenant({ caller }: Context, tenant: string | null): void {
  if (tenant === null || tenant === String(caller.tenant_id)) return;
  raise(kernelError("T5_IDENTITY_VIOLATION", "tenant: is not the one of the credential", handlerRef));
}

/** Yields the messages of a stream as answers to its request. A failure is the last of them. */
async function* answers(context: Context, id: RpcId, messages: AsyncGenerator<object, void, void>) {
  try {
    for await (const message of messages) yield toResult(id, message);
  } catch (thrown) {
    if (!context.gone.aborted) yield toRpcError(id, errorOf(thrown, context.options.logger));
  }
}

interface Surroundings {
  readonly push: PushTasks;
  readonly url: string;
}

type Answering = {
  readonly [M in Exclude<MethodName, "SendStreamingMessage" | "SubscribeToTask">]: (
    context: Context,
    params: ParamsOf<M>,
    around: Surroundings,
  ) => Promise<object>;
};

const methods: Answering = {
  async SendMessage(context, asked, { push }) {
    const taskId = await sendTo(context, push, asked);
    const { returnImmediately } = asked.configuration;
    const state = returnImmediately ? await readWorkflow(context, taskId) : await waitAwhile(context, taskId);
    return { task: await toTask(context, state) };
  },
  GetTask: async (context, { id }) => toTask(context, await readWorkflow(context, id)),
  ListTasks: (context, params) => listTasks(context, params),
  async CancelTask(context, { id }) {
    const { state } = await readWorkflow(context, id);
    if (isTerminal(state)) raise(kernelError("T0_A2A_NOT_CANCELABLE", `the task is ${state}`, handlerRef));
    const caller = await requireGranted(context, commandScopes.cancel);
    await context.kernel.cancel(id, { ...caller, reason: "cancelled by its task" });
    return toTask(context, await waitAwhile(context, id));
  },
  CreateTaskPushNotificationConfig: (context, config, { push }) => push.create(context, taskOf(config.taskId), config),
  GetTaskPushNotificationConfig: (context, { taskId, id }, { push }) => push.get(context, taskId, id),
  ListTaskPushNotificationConfigs: async (context, { taskId }, { push }) => ({
    configs: await push.list(context, taskId),
    nextPageToken: "",
  }),
  async DeleteTaskPushNotificationConfig(context, { taskId, id }, { push }) {
    await push.drop(context, taskId, id);
    return {};
  },
  async GetExtendedAgentCard(context, _params, { url }) {
    const showsSkills = await isGranted(context, commandScopes.submit satisfies CommandScope);
    return agentCard(context.kernel, context.options, { url, showsSkills });
  },
};

const taskOf = (taskId: string | null): string =>
  taskId ?? raise(kernelError("T0_VALIDATION_SCHEMA_MISMATCH", "taskId: names the task", handlerRef));

/** Takes a message, and begins the notifications that it asks for. */
async function sendTo(context: Context, push: PushTasks, asked: ParamsOf<"SendMessage">): Promise<string> {
  const config = asked.configuration.taskPushNotificationConfig;
  if (config !== undefined) push.check(config);
  const taskId = await takeMessage(context, asked);
  if (config !== undefined) await push.create(context, taskId, config);
  return taskId;
}
