/**
 * The arguments of the kernel's methods, checked by the catalogue before a method runs: a value of another type, and an
 * option that no method has, is refused with every problem.
 *
 * Never: reads requests and records, which the methods read as JSON; decides who may, or what exists.
 * 1.  Once the kernel has stopped, its ledger is closed: a method that would read it says that the kernel has stopped.
 * 2.  An argument after the last one is refused: it is an option that the method would ignore.
 * 3.  A promise rejects, a stream throws when its first item is requested, and an immediate answer throws.
 */
import { z } from "zod";
import type { CapabilityDefinition } from "../contract/capability.ts";
import { readStrictly } from "../contract/known-keys.ts";
import { moduleRef } from "../contract/module-ref.ts";
import type { CapabilityClient } from "../kernel/capability-client.ts";
import type { Kernel } from "../kernel/kernel-interface.ts";
import { clientOperations, operations, partOperations } from "./catalogue.ts";
import type { Declared, Manner, Operation } from "./operation.ts";

type Method = (...given: readonly unknown[]) => unknown;

const refusals: Readonly<Record<Manner, (thrown: unknown) => unknown>> = {
  promise: (thrown) => Promise.reject(thrown),
  value: (thrown) => {
    throw thrown;
  },
  // biome-ignore lint/correctness/useYield: it throws when its first item is requested
  stream: async function* (thrown): AsyncGenerator<never, never, void> {
    throw thrown;
  },
};

/** Returns the same methods behind the check of their arguments. `requireOpen` throws once the ledger is closed. */
export function checkArguments(kernel: Kernel, requireOpen: () => void): Kernel {
  return {
    ...checkMethods(kernel, operations, requireOpen),
    documents: checkMethods(kernel.documents, partOperations.documents, requireOpen),
    memory: checkMethods(kernel.memory, partOperations.memory, requireOpen),
    tokens: checkMethods(kernel.tokens, partOperations.tokens, requireOpen),
  };
}

/** Returns the same client for one package behind the check of its arguments. */
export const checkClientArguments = <C extends CapabilityDefinition>(client: CapabilityClient<C>) =>
  checkMethods(client, clientOperations as Declared<CapabilityClient<C>>, () => undefined);

function checkMethods<T extends object>(object: T, declared: Declared<T>, requireOpen: () => void): T {
  const checked = Object.entries<Operation>(declared).map(([name, operation]) => {
    const method = object[name as keyof T] as Method;
    const readsLedger = operation.answers !== "value" && operation.isLasting !== true;
    return [name, checkMethod(name, { method, operation, requireOpen: readsLedger ? requireOpen : () => undefined })];
  });
  return { ...object, ...Object.fromEntries(checked) };
}

interface Checked {
  readonly method: Method;
  readonly operation: Operation;
  readonly requireOpen: () => void;
}

function checkMethod(what: string, { method, operation: { takes, answers }, requireOpen }: Checked): Method {
  const names = Object.keys(takes);
  const schema = z.strictObject(takes);
  const source = moduleRef(0, "kernel", what);
  return (...given) => {
    try {
      requireOpen();
      readStrictly(schema, nameArguments(names, given), { what, source });
    } catch (thrown) {
      return refusals[answers](thrown);
    }
    return method(...given);
  };
}

/** Returns the arguments by name. A surplus one gets a name that the strict schema refuses, unless it is undefined. */
function nameArguments(names: readonly string[], given: readonly unknown[]): Readonly<Record<string, unknown>> {
  const surplus = given.slice(names.length).map((value, i) => [`argument ${names.length + i + 1}`, value] as const);
  const named = names.map((name, i) => [name, given[i]] as const);
  return Object.fromEntries([...named, ...surplus.filter(([, value]) => value !== undefined)]);
}
