/**
 * The body of a request as JSON. How text and limits are read is `protocol/read-body-text.ts`, which all faces share.
 */
import { parseJson, readBodyText } from "../protocol/read-body-text.ts";
import type { HttpLimits } from "./http-options.ts";

export { parseJson, readBodyText };

/** The parsed body; {} where there is none. @throws KernelErrorException with status 400, 413 or 415. */
export async function readJsonBody(request: Request, limits: HttpLimits): Promise<unknown> {
  const text = await readBodyText(request, limits);
  return text === "" && !request.headers.has("content-type") ? {} : parseJson(text, limits.maxDepth);
}
