/**
 * An operation: one method of the kernel, declared once for the process that calls it and for every face that offers
 * it.
 *
 * Owns: the form of a declaration, and the check of a table of them against the interface whose methods they declare.
 * Never: the name of an address, which is a face's; the behaviour of a method, which is the kernel's.
 */
import type { z } from "zod";
import type { Caller, CommandScope } from "../contract/auth-context.ts";
import type { JsonObject } from "../contract/json.ts";
import type { Kernel } from "../kernel/kernel-interface.ts";

/** The arguments of a method by name, in their order. */
export type Arguments = Readonly<Record<string, z.ZodType>>;

/** The manner in which a method answers, and in which it refuses. */
export type Manner = "promise" | "stream" | "value";

export interface Operation<M extends Manner = Manner> {
  readonly takes: Arguments;
  readonly answers: M;
  /** Whether the method also serves after the kernel has stopped and its ledger is closed. */
  readonly isLasting?: boolean;
}

type MannerOf<Method> = Method extends (...given: infer _Given) => infer Answer
  ? Answer extends Promise<unknown>
    ? "promise"
    : Answer extends AsyncGenerator<unknown, unknown, void>
      ? "stream"
      : "value"
  : never;

/** The names of an interface's methods, without those that have a symbol. */
export type MethodName<T> = {
  [K in keyof T & string]: T[K] extends (...given: never[]) => unknown ? K : never;
}[keyof T & string];

/**
 * One declaration for each method: a method without one fails the type check, and so does one that answers otherwise.
 */
export type Declared<T> = { readonly [K in MethodName<T>]: Operation<MannerOf<T[K]>> };

/** A part of the declarations of `T`: a row without its method fails the type check. */
export type Table<T, Row extends object = object> = Readonly<Partial<Record<MethodName<T>, Row>>>;

export const promised = (takes: Arguments): Operation<"promise"> => ({ takes, answers: "promise" });
export const streamed = (takes: Arguments): Operation<"stream"> => ({ takes, answers: "stream" });
export const immediate = (takes: Arguments): Operation<"value"> => ({ takes, answers: "value" });
export const lasting = (takes: Arguments): Operation<"promise"> => ({ ...promised(takes), isLasting: true });

/** The part of an operation that every face shows to callers from outside. */
export interface Offered {
  /** The name in lists of operations: the operationId of OpenAPI, and the MCP tool with dashes. */
  readonly id: string;
  /** The last word of the REST address, and of the JSON-RPC method. */
  readonly word: string;
  readonly summary: string;
  /** Further facts for whoever reads the document of the API. */
  readonly description?: string;
  /** The scope that the credential and the role of the caller need. */
  readonly scope: CommandScope;
  /** The schema of the answer; of a stream, of one item. */
  readonly answer: z.ZodType;
}

/** An operation that changes something, on behalf of the caller whom its request names. */
export interface Command extends Operation<"promise">, Offered {
  /** The request as the kernel reads it: strict, with the caller's tenant and principal. */
  readonly request: z.ZodObject;
  /** A request without its caller. */
  readonly example: JsonObject;
  /** Whether sending the same request again changes nothing further. */
  readonly isIdempotent?: boolean;
  /**
   * Whether the ledger keeps the Idempotency-Key of the request: it may begin a workflow, or reach another gate when it
   * is repeated.
   */
  readonly isKeyed?: boolean;
  /** Whether a caller outside the process must name the gate. */
  readonly namesGate?: boolean;
}

/** A command that names no workflow in its address. */
export interface KernelCommand extends Command {
  /** Whether the request names something that may not exist. */
  readonly namesOne?: boolean;
  /** Calls the method. The kernel checks the request against its schema. */
  readonly run: (kernel: Kernel, request: JsonObject) => Promise<object>;
}

/** A command to one workflow. */
export interface WorkflowCommand extends Command {
  /** Calls the method. The kernel checks the request against its schema. */
  readonly run: (kernel: Kernel, workflowId: string, request: JsonObject) => Promise<object>;
}

/** An operation that examines much: its stream ends with a report. */
export interface Search extends Operation<"stream">, Offered {
  /** The schema of what the stream returns after its last item. */
  readonly report: z.ZodObject;
}

/** An operation that reads a page of a list. */
export interface List<Filter extends z.ZodObject, Page> extends Operation<"promise">, Offered {
  readonly filter: Filter;
  /** Calls the method and gives the page with the cursor of the next one. */
  readonly read: (
    kernel: Kernel,
    filter: z.input<Filter> & { readonly limit: number },
    caller: Caller,
  ) => Promise<Page>;
}

export interface Viewing {
  readonly caller: Caller;
  /** The sequence of the event after which the workflow is shown, of a view that takes one. */
  readonly at?: number | undefined;
}

/** An operation that reads one workflow. */
export interface View extends Operation, Offered {
  /** Whether it can show the workflow as it was at an earlier sequence. */
  readonly takesAt?: boolean;
  /** Calls the method and gives the answer in the form of the `answer` schema. */
  readonly read: (kernel: Kernel, workflowId: string, asked: Viewing) => Promise<object>;
}
