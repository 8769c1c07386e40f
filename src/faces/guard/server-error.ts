/**
 * Errors of the protocol with which the server behind answers: as results, so that the ledger has one form for both,
 * and as errors again for the client.
 */
import { ProtocolError } from "@modelcontextprotocol/server";
import { isPlainObject, type JsonObject } from "../../contract/json.ts";

/** The member of a result's `_meta` that holds an error of the protocol. */
const errorMeta = "countersign/error";

export type ServerError = Pick<ProtocolError, "code" | "message" | "data">;

/** Returns the members of an error, without those that are undefined. */
export const errorMembers = ({ code, message, data }: ServerError): ServerError => ({
  code,
  message,
  ...(data !== undefined && { data }),
});

/** Returns an error of the protocol as a result. */
export function errorResult(error: ServerError): JsonObject {
  return {
    content: [{ type: "text", text: error.message }],
    isError: true,
    _meta: { [errorMeta]: errorMembers(error) },
  };
}

/** Returns the result. @throws ProtocolError if it holds the error of the protocol with which the server answered. */
export function orServerError(result: JsonObject): JsonObject {
  const { _meta } = result;
  const error = isPlainObject(_meta) ? (_meta[errorMeta] as ServerError | undefined) : undefined;
  if (error !== undefined) throw new ProtocolError(error.code, error.message, error.data);
  return result;
}
