/** The arguments of a call as JSON. */
import { type Json, toJson } from "../../contract/json.ts";

/** Returns the arguments as JSON: dates become texts. Those that are no JSON are null, which the kernel refuses. */
export function readArguments(input: unknown): Json {
  try {
    return toJson(input ?? {});
  } catch {
    return null;
  }
}
