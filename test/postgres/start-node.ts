/** Starts a process with a kernel (node.ts), and speaks with it. */
import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { join } from "node:path";
import { createInterface } from "node:readline";

export interface Node {
  readonly process: ChildProcessWithoutNullStreams;
  readonly submit: (count: number) => Promise<readonly string[]>;
  /** Begins a list that runs a job for each of so many items, and returns its id. */
  readonly submitList: (items: number) => Promise<string>;
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
    submitList: async (items) => (await order(`each ${items}`))[0] as string,
  };
}
