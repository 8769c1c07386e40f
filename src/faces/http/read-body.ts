/**
 * The body of a request as JSON, or as a form. How bytes, text and limits are read is `protocol/read-body-text.ts`,
 * which all faces share.
 */
import { kernelError } from "../../contract/error-codes.ts";
import { raise } from "../../contract/kernel-error.ts";
import { moduleRef } from "../../contract/module-ref.ts";
import { decodeBody, parseJson, readBodyText, readBytes } from "../../protocol/read-body-text.ts";
import type { HttpLimits } from "./http-options.ts";

const bodyRef = moduleRef(0, "http", "read_body");
const maxFormBytes = 4096;

/** Returns the parsed body; {} if there is none. @throws KernelErrorException with status 400, 413 or 415. */
export async function readJsonBody(request: Request, limits: HttpLimits): Promise<unknown> {
  const text = await readBodyText(request, limits);
  return text === "" && !request.headers.has("content-type") ? {} : parseJson(text, limits.maxDepth);
}

/** Reads a form, a few fields of text. @throws KernelErrorException with status 400, 413 or 415. */
export async function readForm(request: Request, { maxBodyBytes }: HttpLimits): Promise<URLSearchParams> {
  const type = request.headers.get("content-type") ?? "";
  if (!/^application\/x-www-form-urlencoded\s*(;|$)/i.test(type))
    raise(kernelError("T0_HTTP_MEDIA_TYPE", "the body is not a form", bodyRef, { detail: { type } }));
  return new URLSearchParams(decodeBody(await readBytes(request, Math.min(maxBodyBytes, maxFormBytes))));
}
