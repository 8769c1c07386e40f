/**
 * Three processes on one database, and one blow after another: one of them is killed, stopped and woken, or cut off
 * from the database, while its workflows run. Judges what came of it.
 *
 * J1  Nothing is lost: each workflow that was accepted is completed, each of its steps has had its effect, each chain
 *     is sound.
 * J2  No call is made whose start is not in the ledger: what was under way when the blow fell is called once more under
 *     its key, and nothing else.
 * J3  One that wakes, or hears the database again, begins nothing of what others have gone on with.
 */
import { once } from "node:events";
import { Client } from "pg";
import { createKernel, type Kernel } from "../../src/index.ts";
import { postgresLedger } from "../../src/ledger/postgres/index.ts";
import { type Door, openProxy } from "./proxy.ts";
import { createEffects, killNodes, type Node, startNode } from "./start-node.ts";

export const blows = ["kill", "stop", "cut"] as const;
export type Blow = (typeof blows)[number];

export interface StrikeOptions {
  readonly serverUrl: string;
  readonly schema: string;
  readonly count: number;
  readonly leaseMs: number;
  /** Workflows that a blow meets. */
  readonly workflows?: number;
  readonly tell?: (line: string) => void;
}

export interface Struck {
  /** From each blow to the first call that another process made in its stead, in ms. */
  readonly takenUpMs: Readonly<Record<Blow, readonly number[]>>;
  readonly workflows: number;
  readonly effects: number;
  /** Calls made again under their key. */
  readonly again: number;
  /** What is not as it should be; empty where all holds. */
  readonly broken: readonly string[];
}

interface Member {
  readonly owner: string;
  readonly node: Node;
  readonly proxy: Door;
}

const steps = 4;

export async function strikeNodes(options: StrikeOptions): Promise<Struck> {
  const game = new Game(options);
  try {
    await game.open();
    for (let n = 0; n < options.count; n += 1) await game.strike(blows[n % blows.length] as Blow, n);
    return await game.judge();
  } finally {
    await game.close();
  }
}

class Game {
  readonly #options: StrikeOptions;
  readonly #client: Client;
  readonly #takenUpMs: Record<Blow, number[]> = { kill: [], stop: [], cut: [] };
  readonly #broken: string[] = [];
  #members: Member[] = [];
  #opened = 0;
  #accepted = 0;

  constructor(options: StrikeOptions) {
    this.#options = options;
    this.#client = new Client({ connectionString: options.serverUrl, options: `-c search_path=${options.schema}` });
  }

  async open(): Promise<void> {
    const ledger = this.#ledger();
    await ledger.open();
    await ledger.close();
    await this.#client.connect();
    await createEffects(this.#client);
    await this.#client.query("CREATE INDEX ON effects (at)");
    for (let i = 0; i < 3; i += 1) this.#members.push(await this.#start());
  }

  async close(): Promise<void> {
    await killNodes(this.#members.map(({ node }) => node));
    for (const { proxy } of this.#members) proxy.close();
    await this.#client.end();
  }

  /** Its workflows are begun, it is struck, the others see them to their end, and it comes back. */
  async strike(blow: Blow, n: number): Promise<void> {
    const victim = this.#members[n % 3] as Member;
    const { workflows = 6 } = this.#options;
    const before = await this.#now();
    this.#accepted += (await victim.node.submit(workflows)).length;
    // On a busy machine one may be late to say that it lives, and others have gone on before the blow.
    const isUnderWay = `SELECT count(*) >= ${workflows} FROM effects WHERE at > to_timestamp($1)`;
    await this.#until(isUnderWay, [before / 1000]);
    await deal(blow, victim);
    const at = await this.#now();
    await this.#until(`SELECT count(*) = ${this.#accepted} FROM workflows WHERE state = 'completed'`);
    const asked =
      "SELECT extract(epoch FROM min(at)) * 1000 AS at FROM effects WHERE kernel <> $1 AND at > to_timestamp($2)";
    const takenUpMs = Number((await this.#ask(asked, [victim.owner, at / 1000]))["at"] ?? at) - at;
    this.#takenUpMs[blow].push(takenUpMs);
    this.#options.tell?.(`${n + 1} ${blow} ${victim.owner}: taken up after ${Math.round(takenUpMs)} ms`);
    await this.#bringBack(blow, victim);
  }

  async #bringBack(blow: Blow, victim: Member): Promise<void> {
    const backAt = await this.#now();
    const known = (await this.#ask("SELECT array_agg(DISTINCT key) AS keys FROM effects"))["keys"] as readonly string[];
    if (blow === "kill") {
      victim.proxy.close();
      this.#members = this.#members.filter((member) => member !== victim);
      this.#members.splice(this.#opened % 3, 0, await this.#start());
      return;
    }
    if (blow === "stop") victim.node.process.kill("SIGCONT");
    else victim.proxy.restore();
    this.#accepted += (await victim.node.submit(1)).length;
    await this.#until(`SELECT count(*) = ${this.#accepted} FROM workflows WHERE state = 'completed'`);
    const begun = "SELECT count(*) AS n FROM effects WHERE kernel = $1 AND begun > to_timestamp($2) AND key = ANY($3)";
    const { n } = await this.#ask(begun, [victim.owner, backAt / 1000, known]);
    if (Number(n) > 0) this.#broken.push(`${victim.owner} began ${n} calls of others when it came back from a ${blow}`);
  }

  async judge(): Promise<Struck> {
    const kernel = await createKernel({ ledger: this.#ledger(), recover: false });
    const { ok, broken } = await kernel.verify();
    const { ids } = await this.#ask("SELECT array_agg(workflow_id) AS ids FROM workflows");
    const begun = await startsOf(kernel, ids as readonly string[]);
    await kernel.stop({ drainMs: 0 });
    if (!ok) this.#broken.push(`verify: ${JSON.stringify(broken.slice(0, 3))}`);
    const counted = await this.#ask("SELECT count(*) AS n, count(DISTINCT key) AS keys FROM effects");
    const [effects, keys] = [Number(counted["n"]), Number(counted["keys"])];
    if (keys !== steps * this.#accepted) this.#broken.push(`${keys} steps had an effect, of ${steps * this.#accepted}`);
    const { rows } = await this.#client.query(
      "SELECT key, count(*) AS n FROM effects GROUP BY key HAVING count(*) > 1",
    );
    for (const { key, n } of rows)
      if (Number(n) > (begun.get(key) ?? 0)) this.#broken.push(`${key}: ${n} calls, ${begun.get(key)} starts`);
    const struck = this.#takenUpMs;
    return { takenUpMs: struck, workflows: this.#accepted, effects, again: effects - keys, broken: this.#broken };
  }

  async #start(): Promise<Member> {
    this.#opened += 1;
    const { serverUrl, schema, leaseMs } = this.#options;
    const owner = `k${this.#opened}`;
    const proxy = await openProxy(serverUrl);
    const start = () => startNode([serverUrl, schema, owner, String(leaseMs), proxy.url]);
    // As whoever supervises processes would: one that did not come up in time is started again.
    return { owner, proxy, node: await start().catch(start) };
  }

  readonly #ledger = () => postgresLedger({ url: this.#options.serverUrl, schema: this.#options.schema });

  async #ask(text: string, values: readonly unknown[] = []): Promise<Readonly<Record<string, unknown>>> {
    return ((await this.#client.query(text, [...values])).rows[0] ?? {}) as Readonly<Record<string, unknown>>;
  }

  async #until(text: string, values: readonly unknown[] = []): Promise<void> {
    while ((await this.#ask(`SELECT (${text}) AS yes, pg_sleep(0.01)`, values))["yes"] !== true);
  }

  /** By the database's clock, as that of effects; epoch ms. */
  async #now(): Promise<number> {
    return Number((await this.#ask("SELECT extract(epoch FROM clock_timestamp()) * 1000 AS at"))["at"]);
  }
}

/** How often the ledger has it that a call under each key began. */
async function startsOf(kernel: Kernel, ids: readonly string[]): Promise<ReadonlyMap<string, number>> {
  const starts = new Map<string, number>();
  for (const id of ids)
    for await (const event of kernel.events(id)) {
      if (event.event_type !== "ACTION_STARTED") continue;
      const { key } = event.payload as unknown as { readonly key: string };
      starts.set(key, (starts.get(key) ?? 0) + 1);
    }
  return starts;
}

async function deal(blow: Blow, { node, proxy }: Member): Promise<void> {
  if (blow === "cut") return proxy.mute();
  node.process.kill(blow === "kill" ? "SIGKILL" : "SIGSTOP");
  if (blow === "kill") await once(node.process, "exit");
}
