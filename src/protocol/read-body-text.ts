/**
 * The body of a request as text and as JSON, for every face over HTTP.
 *
 * 1.  No more than `maxBodyBytes` is ever read, whatever length the request declares.
 * 2.  The text is read as `parse-json.ts` reads it: nothing is lost or replaced.
 * 3.  An encoded body is refused, whatever its encoding: nothing is unpacked here, so that nothing grows while it is
 *     read.
 * 4.  Bytes that are not UTF-8, text that is not JSON, and trees that are too deep are input errors; nothing is
 *     guessed.
 */
import { kernelError } from "../contract/error-codes.ts";
import { NotJson } from "../contract/json.ts";
import { KernelErrorException, raise } from "../contract/kernel-error.ts";
import { moduleRef } from "../contract/module-ref.ts";
import { parseSafeJson } from "./parse-json.ts";

export interface BodyLimits {
  /** Bytes of a request's body. */
  readonly maxBodyBytes: number;
  /** Levels of nesting in a body. */
  readonly maxDepth: number;
}

const bodyRef = moduleRef(0, "bridge", "read_body");

/** Parses text. @throws KernelErrorException T0_VALIDATION_SCHEMA_MISMATCH. */
export function parseJson(text: string, maxDepth: number): unknown {
  try {
    return parseSafeJson(text, maxDepth);
  } catch (thrown) {
    if (!(thrown instanceof SyntaxError || thrown instanceof NotJson)) throw thrown;
    return refuse(thrown instanceof NotJson ? thrown.message : "it is not JSON");
  }
}

/** Returns the body's text, checked for its type and size. @throws KernelErrorException with status 400, 413 or 415. */
export async function readBodyText(
  request: Request,
  { maxBodyBytes }: Pick<BodyLimits, "maxBodyBytes">,
): Promise<string> {
  const type = request.headers.get("content-type");
  if (type !== null && !/^application\/json\s*(;\s*charset="?utf-8"?\s*)?$/i.test(type))
    raise(kernelError("T0_HTTP_MEDIA_TYPE", "the body is not application/json", bodyRef, { detail: { type } }));
  const bytes = await readBytes(request, maxBodyBytes);
  if (type === null && bytes.length > 0)
    raise(kernelError("T0_HTTP_MEDIA_TYPE", "the body has no content type", bodyRef));
  return decodeBody(bytes);
}

/**
 * Returns the text of a body's bytes. @throws KernelErrorException T0_VALIDATION_SCHEMA_MISMATCH if they are not UTF-8.
 */
export function decodeBody(bytes: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return refuse("it is not UTF-8");
  }
}

/** Reads a body as JSON-RPC does: an unreadable body is a parse error. Type and size are HTTP's own affair. */
export async function orUnparsed<T>(read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (thrown) {
    const isUnread = thrown instanceof KernelErrorException && thrown.error.code === "T0_VALIDATION_SCHEMA_MISMATCH";
    if (!isUnread) throw thrown;
    return raise(kernelError("T0_RPC_PARSE_FAILED", `parse error: ${thrown.error.message}`, bodyRef));
  }
}

/** Returns the body's bytes. @throws KernelErrorException with status 400, 413 or 415. */
export async function readBytes(request: Request, most: number): Promise<Uint8Array> {
  const encoding = request.headers.get("content-encoding") ?? "";
  if (!/^(?:identity)?$/i.test(encoding))
    raise(
      kernelError("T0_HTTP_CONTENT_ENCODING", "the body has a Content-Encoding", bodyRef, { detail: { encoding } }),
    );
  if (Number(request.headers.get("content-length") ?? 0) > most) refuseSize(most);
  try {
    return await readWithin(request.body ?? [], most, () => refuseSize(most));
  } catch (thrown) {
    if (thrown instanceof KernelErrorException) throw thrown;
    return refuse("it broke off");
  }
}

type Parts = AsyncIterable<Uint8Array> | Iterable<Uint8Array>;

/** Reads all parts of a body, or calls `refuseMore`, which throws, once there are more bytes than `most`. */
export async function readWithin(body: Parts, most: number, refuseMore: () => never): Promise<Buffer<ArrayBuffer>> {
  const parts: Uint8Array[] = [];
  let size = 0;
  // Leaving the loop cancels the body.
  for await (const part of body) {
    size += part.length;
    if (size > most) refuseMore();
    parts.push(part);
  }
  return Buffer.concat(parts);
}

const refuse = (reason: string): never =>
  raise(kernelError("T0_VALIDATION_SCHEMA_MISMATCH", `the body cannot be read: ${reason}`, bodyRef));

const refuseSize = (most: number): never =>
  raise(
    kernelError("T0_VALIDATION_PAYLOAD_TOO_LARGE", `the body has more than limits.maxBodyBytes = ${most}`, bodyRef, {
      detail: { maxBodyBytes: most },
    }),
  );
