/**
 * The system under test: a kernel on a real SQLite file, the script that its operators follow, and what happens to a
 * process: it dies with its calls under way, and another one opens the file.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { definePolicy, type LedgerEvent, type Middleware, type WorkflowState } from "../../src/index.ts";
import { sqliteLedger } from "../../src/ledger/sqlite/index.ts";
import {
  createTestKernel,
  createVirtualClock,
  type TestKernel,
  type TestKernelOptions,
  testCaller,
} from "../../src/testing/index.ts";
import { intent, Script } from "./scripted.ts";

const leaseMs = 30_000;

/** The kinds of steps as which the watched step may park. */
export type ParkedKind = "sleep" | "wait" | "each";

/** A workflow that a walk drives by what people can do, and reads back. */
export interface Walked extends AsyncDisposable {
  readonly script: Script;
  readonly t: TestKernel;
  readonly id: string;
  /** The kind of step as which the watched step parks. */
  readonly parks: ParkedKind;
  readonly crash: (options?: TestKernelOptions, afterMs?: number) => Promise<void>;
  readonly decide: (decision: "approve" | "reject", gateId?: string, payload?: object) => Promise<void>;
  readonly cancel: (undo?: boolean) => Promise<void>;
  readonly retry: () => Promise<void>;
  /** Goes on with a fork of the workflow at its end. */
  readonly fork: () => Promise<void>;
  readonly rollback: () => Promise<void>;
  /** Stops all calls of an operator, and lets them go on. */
  readonly halt: (operator: string) => Promise<void>;
  readonly lift: () => Promise<void>;
  readonly emit: (name: string, key: string) => Promise<void>;
  readonly view: () => Promise<WorkflowState>;
  readonly events: () => Promise<readonly LedgerEvent[]>;
}

export const admin = { tenant_id: 1, principal: { type: "user", id: "root", role: "admin" } } as const;

/** Returns the rule and the hooks that do as a script says. */
export function scriptedBy(script: Script) {
  const rule = definePolicy({
    name: "as scripted",
    stages: ["action", "outcome"],
    evaluate: ({ stage, subject }) =>
      stage === script.denies && (stage === "outcome" || subject.name === "subject")
        ? { decision: "DENY", reason: "the script says so" }
        : null,
  });
  const hooks: Middleware = {
    name: "as scripted",
    before: ({ step_id }) => script.pass("before", step_id),
    after: ({ step_id }) => script.pass("after", step_id),
    onError: ({ step_id }) => script.pass("onError", step_id),
  };
  return { defaultPolicies: false, policies: [rule], middleware: [hooks] };
}

export class Subject implements Walked {
  readonly parks = "sleep";
  readonly script = new Script();
  readonly #folder = mkdtempSync(join(tmpdir(), "countersign-model-"));
  readonly #options: TestKernelOptions;
  readonly #dead: { readonly kernel: TestKernel; readonly release: () => void }[] = [];
  #alive: TestKernel | null = null;
  #id = "";
  #seed = 0;

  private constructor(options: TestKernelOptions) {
    this.#options = options;
  }

  static async open(options: TestKernelOptions = {}): Promise<Subject> {
    const subject = new Subject(options);
    subject.#alive = await subject.#start();
    return subject;
  }

  get t(): TestKernel {
    return this.#alive as TestKernel;
  }

  get id(): string {
    return this.#id;
  }

  #start(now?: number, options: TestKernelOptions = {}): Promise<TestKernel> {
    this.#seed += 1;
    return createTestKernel({
      ledger: sqliteLedger({ path: join(this.#folder, "model.db") }),
      capabilities: [this.script.capability()],
      ...scriptedBy(this.script),
      seed: this.#seed,
      clock: createVirtualClock(now),
      ...this.#options,
      ...options,
    });
  }

  async submit(): Promise<void> {
    this.#id = await this.t.submit(intent);
    await this.t.clock.settle();
  }

  /** The process dies where it stands; another one opens the file once the dead one's lease has run out, or later. */
  async crash(options: TestKernelOptions = {}, afterMs = leaseMs): Promise<void> {
    const kernel = this.t;
    this.#dead.push({ kernel, release: this.script.forget() });
    this.#alive = await this.#start(kernel.clock.now() + afterMs + 1, options);
    await this.t.clock.settle();
  }

  async decide(decision: "approve" | "reject", gateId?: string, payload?: object): Promise<void> {
    await this.t[decision](this.#id, gateId, payload);
    await this.t.clock.settle();
  }

  async cancel(undo = false): Promise<void> {
    await this.t.kernel.cancel(this.#id, { ...testCaller, undo });
    await this.t.clock.settle();
  }

  async rollback(): Promise<void> {
    await this.t.kernel.rollback(this.#id, testCaller);
    await this.t.clock.settle();
  }

  async halt(operator: string): Promise<void> {
    await this.t.kernel.halt({ ...admin, of: { operator }, reason: "not now" });
  }

  async lift(): Promise<void> {
    for (const { halt_id } of await this.t.kernel.halts(1, admin)) await this.t.kernel.lift({ ...admin, halt_id });
    await this.t.clock.settle();
  }

  async emit(name: string, key: string): Promise<void> {
    await this.t.kernel.emit({ ...testCaller, name, key });
    await this.t.clock.settle();
  }

  async retry(): Promise<void> {
    await this.t.kernel.retry(this.#id, testCaller);
    await this.t.clock.settle();
  }

  async fork(): Promise<void> {
    const { sequence } = await this.view();
    this.#id = (await this.t.kernel.fork(this.#id, { ...testCaller, at: sequence })).workflow_id;
    await this.t.clock.settle();
  }

  view(): Promise<WorkflowState> {
    return this.t.kernel.workflow(this.#id);
  }

  async events(): Promise<readonly LedgerEvent[]> {
    const events: LedgerEvent[] = [];
    for await (const event of this.t.kernel.events(this.#id, { live: false })) events.push(event);
    return events;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const release = this.script.forget();
    const living = [{ kernel: this.t, release }, ...this.#dead];
    for (const { kernel, release: letGo } of living) {
      const stopped = kernel.kernel.stop({ drainMs: 0 });
      letGo();
      await kernel.clock.advance(60_000);
      await stopped;
    }
    rmSync(this.#folder, { recursive: true, force: true });
  }
}
