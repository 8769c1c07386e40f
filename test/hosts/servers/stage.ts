/** A ledger with its table of effects, and processes on it: what all tests of hosts play on. */
import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { Client } from "pg";
import { createKernel } from "../../../src/index.ts";
import { postgresLedger } from "../../../src/ledger/postgres/index.ts";
import type { NodeCommand, NodeOptions } from "./node.ts";

export interface Node {
  readonly process: ChildProcessWithoutNullStreams;
  readonly owner: string;
  readonly submit: (type: string, count?: number) => Promise<readonly string[]>;
  readonly approve: (id: string) => Promise<unknown>;
  /** Resolves with the code that the process ends with by itself. */
  readonly stop: (drainMs?: number) => Promise<number | null>;
  /** Codes of errors that it has logged. */
  readonly told: readonly string[];
}

export interface Effect {
  readonly key: string;
  readonly workflow: string;
  readonly kernel: string;
  readonly at: number;
}

export interface Stage extends AsyncDisposable {
  readonly schema: string;
  readonly start: (owner: string, more?: Partial<NodeOptions>) => Promise<Node>;
  readonly effects: () => Promise<readonly Effect[]>;
  /** Asks the database until it says yes, for 60 s. */
  readonly until: (text: string) => Promise<void>;
  /** Of the database's clock, as that of effects; ms. */
  readonly now: () => Promise<number>;
  readonly count: (text: string) => Promise<number>;
  /** Whether all chains and indexes are as they must be, and each of these workflows replays to the byte. */
  readonly isSound: (ids: readonly string[]) => Promise<boolean>;
}

/** Where the ledger is; the schema is new. */
export type Place = Pick<NodeOptions, "url" | "schema">;

export async function openStage({ url, schema }: Place): Promise<Stage> {
  const ledger = postgresLedger({ url, schema });
  await ledger.open();
  await ledger.close();
  const client = new Client({ connectionString: url, options: `-c search_path=${schema}` });
  await client.connect();
  await client.query(
    "CREATE TABLE effects (key text, workflow text, kernel text, at timestamptz DEFAULT clock_timestamp())",
  );
  const nodes: Node[] = [];
  const ask = async (text: string) => (await client.query(text)).rows as readonly Record<string, unknown>[];
  return {
    schema,
    start: async (owner, more = {}) => {
      const node = await startNode({ url, schema, owner, ...more });
      nodes.push(node);
      return node;
    },
    effects: async () =>
      (await ask("SELECT key, workflow, kernel, extract(epoch FROM at) * 1000 AS at FROM effects ORDER BY at")).map(
        (row) => ({
          key: row["key"] as string,
          workflow: row["workflow"] as string,
          kernel: row["kernel"] as string,
          at: Number(row["at"]),
        }),
      ),
    until: async (text) => {
      for (let looks = 0; looks < 6000; looks += 1)
        if ((await ask(`SELECT (${text}) AS yes, pg_sleep(0.01)`))[0]?.["yes"] === true) return;
      throw new Error(`${text}: not after 60 s; ${JSON.stringify(await ask("SELECT * FROM workflows"))}`);
    },
    now: async () => Number((await ask("SELECT extract(epoch FROM clock_timestamp()) * 1000 AS at"))[0]?.["at"]),
    count: async (text) => Number((await ask(`SELECT (${text}) AS n`))[0]?.["n"]),
    isSound: (ids) => isSound({ url, schema }, ids),
    async [Symbol.asyncDispose]() {
      await Promise.all(nodes.map(({ process }) => end(process)));
      await client.end();
    },
  };
}

export const isDone = (count: number, state = "completed") =>
  `SELECT count(*) = ${count} FROM workflows WHERE state = '${state}'`;
export const isUnderWay = (count: number) => `SELECT count(*) >= ${count} FROM effects`;

async function end(process: ChildProcessWithoutNullStreams): Promise<void> {
  if (process.exitCode !== null || process.signalCode !== null) return;
  process.kill("SIGKILL");
  await once(process, "exit");
}

async function isSound(place: Place, ids: readonly string[]): Promise<boolean> {
  const kernel = await createKernel({ ledger: postgresLedger(place), recover: false });
  try {
    const records = await Promise.all(ids.map((id) => kernel.workflow(id)));
    return (await kernel.verify()).ok && records.length === ids.length;
  } finally {
    await kernel.stop({ drainMs: 0 });
  }
}

/** @throws what the process says where it does not come up. */
async function startNode(options: NodeOptions): Promise<Node> {
  const child = spawn(process.execPath, [join(import.meta.dirname, "node.ts"), JSON.stringify(options)]);
  const errors: string[] = [];
  const told: string[] = [];
  child.stderr.on("data", (bytes) => errors.push(String(bytes)));
  const answers: ((answer: Record<string, unknown>) => void)[] = [];
  createInterface({ input: child.stdout }).on("line", (line) => {
    const said = JSON.parse(line) as Record<string, unknown>;
    if ("told" in said) told.push(codeOf(said["told"]));
    else answers.shift()?.(said);
  });
  const hear = () => new Promise<Record<string, unknown>>((resolve) => answers.push(resolve));
  const tell = (command: NodeCommand) => {
    const heard = hear();
    child.stdin.write(`${JSON.stringify(command)}\n`);
    return heard;
  };
  const gone = once(child, "exit").then(() => ({ failed: errors.join("") }) as Record<string, unknown>);
  const ready = await Promise.race([hear(), gone]);
  if (ready["ready"] !== true) throw new Error(String(ready["failed"]));
  return {
    process: child,
    owner: options.owner,
    told,
    submit: async (type, count = 1) => (await tell({ do: "submit", type, count }))["ids"] as readonly string[],
    approve: async (id) => (await tell({ do: "approve", id }))["answer"],
    stop: async (drainMs = 0) => {
      const exit = once(child, "exit");
      child.stdin.write(`${JSON.stringify({ do: "stop", drainMs } satisfies NodeCommand)}\n`);
      return (await exit)[0] as number | null;
    },
  };
}

const codeOf = (detail: unknown): string =>
  String((detail as { readonly error?: { readonly code?: string } }).error?.code ?? JSON.stringify(detail));
