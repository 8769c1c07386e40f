/**
 * Reading a request: it is copied as plain JSON once, and nothing reads the original.
 *
 * Owns: the copy, the shape and the size of requests. Never: says who may send one.
 */
import type { z } from "zod";
import { raise } from "../../contract/error.ts";
import { kernelError } from "../../contract/error-codes.ts";
import type { Json } from "../../contract/json.ts";
import { readRequest } from "../../contract/known-keys.ts";
import { moduleRef } from "../../contract/module-ref.ts";
import type { Runtime } from "../../engine/actors/runtime.ts";
import { takeJson } from "../../engine/actors/take-json.ts";

const gatewayRef = Object.freeze(moduleRef(0, "gateway", "submit"));

/** Reads a request. @throws KernelErrorException T0_VALIDATION_SCHEMA_MISMATCH, T0_VALIDATION_PAYLOAD_TOO_LARGE. */
export const admit = <S extends z.ZodType>(runtime: Runtime, schema: S, raw: unknown): z.output<S> =>
  readCopy(runtime, schema, copy(runtime, raw));

/** Reads the copy of a request by its schema, and checks its size. @throws as `admit`. */
export function readCopy<S extends z.ZodType>(runtime: Runtime, schema: S, plain: Json): z.output<S> {
  const { maxRequestChars, maxTextChars } = runtime.limits;
  const size = JSON.stringify(plain).length;
  if (size > maxRequestChars)
    raise(
      kernelError(
        "T0_VALIDATION_PAYLOAD_TOO_LARGE",
        `the request has ${size} characters, more than limits.maxRequestChars = ${maxRequestChars}`,
        gatewayRef,
      ),
    );
  const parsed = readRequest(schema, plain, { what: "request", source: gatewayRef });
  const text = (parsed as { readonly input?: { readonly text?: string } }).input?.text ?? "";
  if (text.length > maxTextChars)
    raise(
      kernelError(
        "T0_VALIDATION_PAYLOAD_TOO_LARGE",
        `input.text has ${text.length} characters, more than limits.maxTextChars = ${maxTextChars}`,
        gatewayRef,
      ),
    );
  return parsed;
}

/** Copies a request as plain JSON. */
export const copy = ({ limits: { maxDepth } }: Runtime, raw: unknown): Json =>
  takeJson(raw, { what: "request", source: gatewayRef, maxDepth });
