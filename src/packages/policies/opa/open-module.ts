/**
 * A module of `opa build -t wasm`, opened for questions.
 *
 * Owns: what a module may use, and the limits of its time and memory. Never: knows a question or a decision.
 * 1.  A module has no clock, no randomness and no network: it is given its input and its data, and the built-in
 *     functions listed here, which compute. One that wants another is refused when it is opened, since a replay must
 *     decide the same.
 * 2.  An evaluation that exceeds its time or its memory fails. The instance that failed is dropped: the next question
 *     gets a new one, so that no question sees what another left behind.
 */
import * as runtime from "@open-policy-agent/opa-wasm";
import { runWithin, stopped } from "../../../define/run-within.ts";
import { reasonOf, refuseOpa } from "./opa-problem.ts";

/** A compiled module. The compiler's libraries declare the engine's WebAssembly for browsers alone. */
interface Module {
  readonly isModule: never;
}
interface Described {
  readonly module: string;
  readonly name: string;
}
const { WebAssembly: engine } = globalThis as unknown as {
  readonly WebAssembly: {
    readonly Module: {
      new (bytes: Uint8Array): Module;
      exports(module: Module): readonly Described[];
      imports(module: Module): readonly Described[];
    };
  };
};

/** An instance of a module, as the runtime makes it. */
interface LoadedPolicy {
  evaluate(input: object, entrypoint: string): readonly { readonly result: unknown }[];
  setData(data: object): void;
  readonly entrypoints: Readonly<Record<string, number>>;
  readonly mem: { readonly buffer: ArrayBuffer };
  readonly wasmInstance: { readonly exports: Readonly<Record<string, (at?: number) => number>> };
}
/** The runtime, whose declarations name functions that its ES module has in the default export alone. */
const { loadPolicySync } = (runtime as unknown as { readonly default: Runtime }).default;
interface Runtime {
  loadPolicySync(module: Module, memory: { readonly initial: number; readonly maximum: number }): LoadedPolicy;
}

/** The built-in functions that the runtime adds to those of the module itself; all of them compute. */
const computing: ReadonlySet<string> = new Set([
  ...["sprintf", "json.is_valid", "regex.split"],
  ...["yaml.is_valid", "yaml.marshal", "yaml.unmarshal"],
]);

/** The built-in functions that read what is not in a question, and what they read. */
const ambient: ReadonlyMap<string, string> = new Map([
  ["time.now_ns", "a clock"],
  ["rand.intn", "randomness"],
  ["uuid.rfc4122", "randomness"],
  ["http.send", "the network"],
  ["net.lookup_ip_addr", "the network"],
  ["opa.runtime", "the process"],
]);

/** The entry point, the data and the limits of an evaluation. */
export interface Evaluating {
  readonly entrypoint: string;
  readonly data: Readonly<Record<string, unknown>>;
  /** The time of the processor that one evaluation may take. */
  readonly evaluationMs: number;
  /** The memory that an instance may have. */
  readonly memoryBytes: number;
}

/** Returns the value of the entry point for an input. @throws Error where there is none. */
export type Evaluate = (input: object) => unknown;

const pageBytes = 65_536;
const firstPages = 5;

/** Opens a module. @throws KernelErrorException T5_POLICY_INVALID for one that cannot be used. */
export function openModule(wasm: Uint8Array, evaluating: Evaluating): Evaluate {
  const module = compile(wasm);
  let ready: LoadedPolicy | null = openFirst(module, evaluating);
  const { entrypoint, evaluationMs } = evaluating;
  return (input) => {
    const policy = ready ?? load(module, evaluating);
    ready = null;
    const results = runWithin(evaluationMs, () => evaluateOnce(policy, input, entrypoint));
    if (results === stopped) throw new Error(`the evaluation took more than ${evaluationMs} ms`);
    ready = policy;
    const [first] = results;
    if (first === undefined) throw new Error(`${entrypoint} is undefined for this question`);
    return first.result;
  };
}

function evaluateOnce(
  policy: LoadedPolicy,
  input: object,
  entrypoint: string,
): readonly { readonly result: unknown }[] {
  try {
    return policy.evaluate(input, entrypoint);
  } catch (thrown) {
    throw new Error(reasonOf(thrown), { cause: thrown });
  }
}

const usedExports = ["opa_eval", "opa_json_dump", "opa_json_parse", "opa_malloc", "builtins", "entrypoints", "memory"];

function compile(wasm: Uint8Array): Module {
  const module = compileBytes(wasm);
  const exported = new Set(engine.Module.exports(module).map(({ name }) => name));
  const isOpa =
    usedExports.every((name) => exported.has(name)) &&
    engine.Module.imports(module).every((one) => one.module === "env");
  return isOpa ? module : refuseOpa("wasm", "it is no policy: make it with opa build -t wasm");
}

function compileBytes(wasm: Uint8Array): Module {
  try {
    return new engine.Module(new Uint8Array(wasm));
  } catch (thrown) {
    return refuseOpa("wasm", reasonOf(thrown));
  }
}

/** Loads the module for the first time, and checks what it wants and what it has. */
function openFirst(module: Module, evaluating: Evaluating): LoadedPolicy {
  const policy = loadOrRefuse(module, evaluating);
  const foreign = builtinsOf(policy).filter((name) => !computing.has(name));
  if (foreign.length > 0) refuseOpa("wasm", foreign.map(problemOf).join("; "));
  const { entrypoint } = evaluating;
  const known = Object.keys(policy.entrypoints);
  if (!known.includes(entrypoint)) refuseOpa("wasm", `it has no entry point ${entrypoint}, but ${known.join(", ")}`);
  return policy;
}

function problemOf(builtin: string): string {
  const reads = ambient.get(builtin);
  if (reads === undefined) return `${builtin} is no function that policies in WebAssembly have`;
  return `${builtin} reads ${reads}, which no replay can repeat: read the input in its place`;
}

function loadOrRefuse(module: Module, evaluating: Evaluating): LoadedPolicy {
  try {
    return load(module, evaluating);
  } catch (thrown) {
    return refuseOpa("wasm", reasonOf(thrown));
  }
}

function load(module: Module, { data, memoryBytes, evaluationMs }: Evaluating): LoadedPolicy {
  const maximum = Math.max(firstPages, Math.ceil(memoryBytes / pageBytes));
  const loaded = runWithin(evaluationMs + openingMs, () => {
    const policy = loadPolicySync(module, { initial: firstPages, maximum });
    policy.setData(data);
    return policy;
  });
  if (loaded === stopped) throw new Error("the module takes too long to start");
  return loaded;
}

/** The time that an instance may take to start and to read its data, beside that of an evaluation. */
const openingMs = 2000;

/** Returns the names of the built-in functions that a module wants from its runtime. */
function builtinsOf({ wasmInstance, mem }: LoadedPolicy): readonly string[] {
  const { builtins, opa_json_dump: dump } = wasmInstance.exports;
  const at = dump?.(builtins?.()) as number;
  const text = Buffer.from(mem.buffer, at);
  return Object.keys(JSON.parse(text.toString("utf8", 0, text.indexOf(0))) as object);
}
