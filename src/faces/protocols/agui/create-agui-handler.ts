/**
 * createAgUiHandler: AG-UI 1.0 over server-sent events, for one address of the HTTP face, behind its authentication.
 *
 * 1.  What is refused is refused before the stream, as problem details with a code.
 * 2.  A client that leaves ends the stream, never the workflow: another run follows it.
 */
import { ScopedCaller } from "../../../contract/auth-context.ts";
import { kernelError } from "../../../contract/error-codes.ts";
import { raise } from "../../../contract/kernel-error.ts";
import { readRequest, readStrictly } from "../../../contract/known-keys.ts";
import { moduleRef } from "../../../contract/module-ref.ts";
import type { Kernel } from "../../../index.ts";
import { parseJson, readBodyText } from "../../../protocol/read-body-text.ts";
import { answerProblem, errorOf } from "../../http/answer.ts";
import { createStreamPlaces } from "../../http/stream-places.ts";
import { readAgentOptions } from "../agent-options.ts";
import { streamAnswer } from "../stream-answer.ts";
import { RunInput } from "./agui-messages.ts";
import { type AgUiHandlerOptions, AgUiShape } from "./agui-options.ts";
import { beginRun } from "./begin-run.ts";
import { streamRun } from "./stream-run.ts";

/** AG-UI over HTTP, to be mounted at one address. */
export interface AgUiHandler {
  /** Answers one request of a known caller with the events of a run; `trace` is the request's id. */
  readonly handle: (request: Request, caller: ScopedCaller, trace: string) => Promise<Response>;
}

const handlerRef = moduleRef(0, "agui", "handler");

/**
 * Creates AG-UI over a kernel, to be mounted in `createHttpApp` or a server of one's own.
 * @throws KernelErrorException T0_VALIDATION_SCHEMA_MISMATCH for bad options.
 */
export function createAgUiHandler(kernel: Kernel, given: AgUiHandlerOptions = {}): AgUiHandler {
  const options = readAgentOptions(AgUiShape, "createAgUiHandler", { kernel, given });
  const places = createStreamPlaces(options.limits);
  return {
    async handle(request, given, trace) {
      try {
        const caller = readStrictly(ScopedCaller, given, { what: "createAgUiHandler: caller", source: handlerRef });
        const context = { kernel, options, places, caller, gone: request.signal };
        const input = await readInput(request, options.limits);
        const begun = await beginRun(context, input);
        return streamAnswer(context, (signal) => streamRun(context, { input, begun }, signal));
      } catch (thrown) {
        return answerProblem(errorOf(thrown, options.logger), trace);
      }
    },
  };
}

/** Returns the input of a run. @throws KernelErrorException with status 400, 405, 413 or 415. */
async function readInput(
  request: Request,
  limits: { readonly maxBodyBytes: number; readonly maxDepth: number },
): Promise<RunInput> {
  if (request.method !== "POST")
    raise(
      kernelError("T0_HTTP_METHOD_NOT_ALLOWED", `${request.method} is not for this address; it takes POST`, handlerRef),
    );
  const body = parseJson(await readBodyText(request, limits), limits.maxDepth);
  const input = readRequest(RunInput, body, { what: "RunAgentInput", source: handlerRef });
  const { protocolVersion = "1.0" } = input;
  if (/^1(?:\.\d+)*$/.test(protocolVersion)) return input;
  const message = `AG-UI ${protocolVersion.slice(0, 16)} is not spoken; this server speaks 1.0`;
  return raise(kernelError("T0_AGUI_VERSION", message, handlerRef));
}
