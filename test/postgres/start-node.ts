/** Starts a process with a kernel (node.ts), and speaks with it. */
import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Client } from "pg";

export interface Node {
  readonly process: ChildProcessWithoutNullStreams;
  readonly submit: (count: number) => Promise<readonly string[]>;
  /** Begins so many jobs in queues of two keys. */
  readonly submitQueued: (count: number) => Promise<readonly string[]>;
  /** Begins a list that runs a job for each of so many items, and returns its id. */
  readonly submitList: (items: number) => Promise<string>;
}

/** Makes the table in which the operator of each process notes what it does. */
export const createEffects = (client: Client): Promise<unknown> =>
  client.query(
    "CREATE TABLE effects (key text, kernel text, begun timestamptz, at timestamptz DEFAULT clock_timestamp())",
  );

/** Kills the processes that are still there, and waits until they are gone. */
export async function killNodes(nodes: readonly Pick<Node, "process">[]): Promise<void> {
  for (const { process } of nodes) {
    if (process.exitCode !== null || process.signalCode !== null) continue;
    process.kill("SIGKILL");
    await once(process, "exit");
  }
}

/** @param aheadMs how far its clock is ahead of this one's. */
export async function startNode(args: readonly string[], aheadMs = 0): Promise<Node> {
  const clock = `const now = Date.now; Date.now = () => now() + ${aheadMs}`;
  const other = aheadMs === 0 ? [] : ["--import", `data:text/javascript,${encodeURIComponent(clock)}`];
  const child = spawn(process.execPath, [...other, join(import.meta.dirname, "node.ts"), ...args]);
  const said = child.stderr.setEncoding("utf8").toArray();
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const hear = async () => {
    const { value, done } = await lines.next();
    if (done === true) throw new Error((await said).join(""));
    return JSON.parse(value) as { readonly ids: readonly string[] };
  };
  const order = async (line: string) => {
    child.stdin.write(`${line}\n`);
    return (await hear()).ids;
  };
  await hear();
  return {
    process: child,
    submit: (count) => order(String(count)),
    submitQueued: (count) => order(`queue ${count}`),
    submitList: async (items) => (await order(`each ${items}`))[0] as string,
  };
}
