/**
 * A second process to measure: what it can be asked for, and asking it.
 * Owns: one question, one answer over the pipe between them. Never: measures anything.
 */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

interface Question {
  readonly id: number;
  readonly name: string;
  readonly given: unknown;
}

interface Answer {
  readonly id: number;
  readonly value?: unknown;
  readonly error?: string;
}

type Handlers = Readonly<Record<string, (given: never) => unknown>>;

/** Answers the process that began this one, until it goes away. */
export function answerParent(handlers: Handlers): void {
  process.on("message", async ({ id, name, given }: Question) => {
    try {
      process.send?.({ id, value: await handlers[name]?.(given as never) } satisfies Answer);
    } catch (thrown) {
      process.send?.({ id, error: String(thrown) } satisfies Answer);
    }
  });
  process.on("disconnect", () => process.exit());
  process.send?.({ id: 0 });
}

export interface Child {
  readonly ask: <T>(name: string, given?: unknown) => Promise<T>;
  readonly stop: () => Promise<void>;
}

/** Starts a file beside this one and waits until it answers. */
export async function startChild(file: string): Promise<Child> {
  const path = fileURLToPath(new URL(file, import.meta.url));
  const child: ChildProcess = fork(path, { execArgv: ["--expose-gc"] });
  const waiting = new Map<number, { resolve(value: never): void; reject(error: Error): void }>();
  let asked = 0;
  await once(child, "message");
  child.on("message", ({ id, value, error }: Answer) => {
    const { resolve, reject } = waiting.get(id) ?? {};
    waiting.delete(id);
    if (error === undefined) resolve?.(value as never);
    else reject?.(new Error(error));
  });
  return {
    ask: (name, given) =>
      new Promise((resolve, reject) => {
        asked += 1;
        waiting.set(asked, { resolve, reject });
        child.send({ id: asked, name, given } satisfies Question);
      }),
    async stop() {
      const gone = once(child, "exit");
      child.disconnect();
      await gone;
    },
  };
}

/** What this process holds, after what nobody holds has been let go; bytes. */
export function measureMemory(): { readonly rss: number; readonly heap: number } {
  globalThis.gc?.();
  const { rss, heapUsed, external } = process.memoryUsage();
  return { rss, heap: heapUsed + external };
}
