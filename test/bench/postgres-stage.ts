/**
 * A Postgres to measure kernels on: processes of kernels, and what they and the server use while they work.
 *
 * Owns: the server, unless it is given, and the schemas. Never: says what is worth measuring.
 */
import { readFileSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import { Client } from "pg";
import { startServer } from "../postgres/start-server.ts";
import { type Child, startChild } from "./in-child.ts";
import type { Done, Spell } from "./kernel-process.ts";
import { median } from "./measure.ts";
import type { Place } from "./place.ts";

/** What workflows took; CPU is µs a workflow. */
export interface Measured {
  readonly per_s: number;
  readonly cpu_us: number;
  /** Of the server's processes; null where they are on another machine. */
  readonly server_us: number | null;
  readonly commits: number;
  readonly p50_ms: number;
  readonly p99_ms: number;
}

export interface Stage {
  readonly url: string;
  /** Of this run, and dropped with it. */
  readonly freshSchema: (name: string) => string;
  /** Bytes of its tables, with their indexes. */
  readonly sizeOf: (name: string) => Promise<number>;
  readonly measure: (work: () => Promise<readonly Done[]>) => Promise<Measured>;
  /** What so many kernels without work make the server do, a second and a kernel. */
  readonly atRest: (
    kernels: number,
    seconds: number,
  ) => Promise<{ readonly transactions: number; readonly cpu_ms: number }>;
  readonly close: () => Promise<void>;
}

/** Column by column. */
export function medianOf(all: readonly Measured[]): Measured {
  const of = (key: keyof Measured): number => median(all.map((one) => one[key] ?? 0));
  const server_us = all.some((one) => one.server_us === null) ? null : of("server_us");
  return {
    per_s: of("per_s"),
    cpu_us: of("cpu_us"),
    server_us,
    commits: of("commits"),
    p50_ms: of("p50_ms"),
    p99_ms: of("p99_ms"),
  };
}

export async function openStage(given: string | undefined = process.env["POSTGRES"]): Promise<Stage> {
  // Syncs are on: what is measured is what survives a loss of power.
  const server = given === undefined ? await startServer(["max_connections=200", "listen_addresses=127.0.0.1"]) : null;
  const url = given ?? (server?.url as string);
  const client = new Client({ connectionString: url });
  await client.connect();
  const schemas: string[] = [];
  return {
    url,
    freshSchema(name) {
      schemas.push(schemaOf(name));
      return schemaOf(name);
    },
    async sizeOf(name) {
      const sizes = `SELECT sum(pg_total_relation_size(c.oid))::float8 AS n FROM pg_class AS c
        WHERE relkind = 'r' AND relnamespace = $1::regnamespace`;
      return (await client.query<{ n: number }>(sizes, [schemaOf(name)])).rows[0]?.n ?? 0;
    },
    async measure(work) {
      let done: readonly Done[] = [];
      const used = await whatServerUses(client, async () => {
        done = await work();
      });
      return reportedOf(done, used);
    },
    async atRest(kernels, seconds) {
      const { cpu_ms, commits } = await whatServerUses(client, () => pause(seconds * 1000));
      return { transactions: commits / seconds / kernels, cpu_ms: (cpu_ms ?? 0) / seconds / kernels };
    },
    async close() {
      for (const schema of schemas) await client.query(`DROP SCHEMA IF EXISTS ${schema} CASCADE`);
      await client.end();
      await server?.stop();
    },
  };
}

const schemaOf = (name: string): string => `bench_${process.pid}_${name}`;

interface Used {
  readonly cpu_ms: number | null;
  readonly commits: number;
}

function reportedOf(done: readonly Done[], { cpu_ms, commits }: Used): Measured {
  const workflows = done.reduce((sum, one) => sum + one.workflows, 0);
  return {
    per_s: done.reduce((sum, one) => sum + (1000 * one.workflows) / one.took_ms, 0),
    cpu_us: (1000 * done.reduce((sum, one) => sum + one.cpu_ms, 0)) / workflows,
    server_us: cpu_ms === null ? null : (1000 * cpu_ms) / workflows,
    commits: commits / workflows,
    p50_ms: median(done.map((one) => one.p50_ms)),
    p99_ms: Math.max(...done.map((one) => one.p99_ms)),
  };
}

async function whatServerUses(client: Client, work: () => Promise<void>): Promise<Used> {
  const before = [await cpuOfServer(client), await commitsOf(client)] as const;
  await work();
  // Its counters are a second late.
  await pause(1_100);
  const [cpu, commits] = [await cpuOfServer(client), await commitsOf(client)];
  const used = [...cpu].reduce((sum, [pid, ms]) => sum + ms - (before[0].get(pid) ?? 0), 0);
  return { cpu_ms: cpu.size === 0 ? null : used, commits: commits - before[1] };
}

/** What each process of the server has used so far, ms; none where they are on another machine. */
export async function cpuOfServer(client: Client): Promise<ReadonlyMap<number, number>> {
  const { rows } = await client.query<{ pid: number }>("SELECT pid FROM pg_stat_activity");
  return new Map(rows.flatMap(({ pid }) => cpuOf(pid)));
}

const msPerTick = 10;

function cpuOf(pid: number): readonly [number, number][] {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]?.split(" ") ?? [];
    return [[pid, (Number(fields[11]) + Number(fields[12])) * msPerTick]];
  } catch {
    return [];
  }
}

async function commitsOf(client: Client): Promise<number> {
  const { rows } = await client.query<{ n: number }>("SELECT sum(xact_commit)::float8 AS n FROM pg_stat_database");
  return rows[0]?.n ?? 0;
}

/** A kernel in a process of its own, which has worked as it will be asked to. */
export async function startKernel(place: Place, spell: Spell): Promise<Child> {
  const child = await startChild("./kernel-process.ts");
  await child.ask("open", place);
  await child.ask("work", spell);
  return child;
}

/** All at once. */
export const workOf = (kernels: readonly Child[], spell: Spell) => (): Promise<readonly Done[]> =>
  Promise.all(kernels.map((kernel) => kernel.ask<Done>("work", spell)));

export async function stopKernels(kernels: readonly Child[]): Promise<void> {
  for (const kernel of kernels) {
    await kernel.ask("stop");
    await kernel.stop();
  }
}
