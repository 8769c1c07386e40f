/**
 * What a host brings as code: checked for what it is called by, whatever class it has.
 */
import { z } from "zod";
import { type Reading, readStrictly } from "./known-keys.ts";

export const hostFunction = z.custom<unknown>((value) => typeof value === "function", "must be a function");

/** An object, or a function, that has these functions. */
export const objectWith = (...functions: readonly PropertyKey[]) =>
  z.custom<object>(
    (value) =>
      ((typeof value === "object" && value !== null) || typeof value === "function") &&
      functions.every((name) => typeof (value as Readonly<Record<PropertyKey, unknown>>)[name] === "function"),
    functions.length === 0 ? "must be an object" : `must be an object with ${functions.map(String).join(", ")}`,
  );

const KernelPart = z.object({ kernel: objectWith("submit", "workflow", "events", "authorize") });

/** @throws KernelErrorException T0_VALIDATION_SCHEMA_MISMATCH for what is no kernel. */
export const requireKernel = (kernel: unknown, reading: Reading): void =>
  void readStrictly(KernelPart, { kernel }, reading);

/** Options about to be taken apart. @throws KernelErrorException T0_VALIDATION_SCHEMA_MISMATCH for what is no object. */
export const takeOptions = <T extends object>(given: T, reading: Reading): T =>
  readStrictly(z.looseObject({}), given, reading) as T;
