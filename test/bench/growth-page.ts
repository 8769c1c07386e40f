/**
 * The page on growth: what the model says of one to a thousand kernels, as Markdown.
 *
 * Owns: which sizes are told, and the words. Never: measures.
 */
import { type Carried, type Parameters, simulateCell, simulateCrowd, simulateDeath } from "./growth-model.ts";

export interface GrowthMeasured {
  /** Of the machine that was measured: kernels and server shared them. */
  readonly cores: number;
  readonly parameters: Parameters;
  /** Workflows a second of one, two and three kernels. */
  readonly seen: readonly number[];
  readonly foretold: readonly number[];
}

const [serverCores, roundTrip, sync] = [16, 0.3, 1];
const seconds = 2;
/** A server that is busier than this has no room for a kernel's death or a busy hour. */
const mostBusy = 0.7;

const row = (...cells: readonly (string | number)[]): string => `| ${cells.join(" | ")} |`;
const table = (head: readonly string[], rows: readonly string[]): string =>
  [row(...head), row(...head.map(() => "---")), ...rows].join("\n");
const whole = (value: number): string => Math.round(value).toLocaleString("en-US");
const share = (value: number): string => `${Math.round(100 * value)} %`;

interface Size extends Carried {
  readonly kernels: number;
}

export function renderGrowth(measured: GrowthMeasured): string {
  const apart: Parameters = { ...measured.parameters, serverCores, roundTrip, sync, sharedCores: null };
  const carried = (kernels: number): Size => ({
    kernels,
    ...simulateCell(apart, { kernels, inFlight: 64, seconds, seed: 1 }),
  });
  const sizes = [1, 2, 3, 5, 10, 20, 30, 50, 80].map(carried);
  const cell = sizes.findLast(({ server_busy }) => server_busy <= mostBusy) ?? (sizes[0] as Size);
  const sections = [
    ...describeMeasured(measured),
    ...describeDatabase(sizes),
    ...describeCells(cell, carried),
    ...describeDeath(apart),
    ...describeFlood(cell),
    ...describeChoice(cell),
  ];
  return `${sections.join("\n\n")}\n`;
}

function describeMeasured({ cores, parameters, seen, foretold }: GrowthMeasured): readonly string[] {
  const { turns, kernelTurn, serverTurn, serverBatch, serverIdle } = parameters;
  const us = (ms: number): string => whole(1000 * ms);
  return [
    "# Growth: from one kernel to a thousand",
    [
      "`npm run growth -- --write` makes this page from a model of queues and from what",
      `\`npm run growth -- --measure\` measured on a machine of\n${cores} cores, which kernels and server shared.`,
      `The workflow is the bench's: five steps, ${turns} turns, 64 in flight a kernel.`,
      "The model knows CPU,\nround trips and syncs; it knows nothing of vacuum, of a disk's bandwidth",
      "or of indexes that outgrow memory. Measure yours before you buy.",
    ].join(" "),
    "## What is measured, and what the model makes of it",
    [
      `A turn costs ${us(kernelTurn)} µs of a kernel and ${us(serverTurn)} µs of the server,`,
      `a batch ${us(serverBatch)} µs more; a commit waits ${us(parameters.sync)} µs for\nthe disk;`,
      `a kernel without work costs ${serverIdle.toFixed(1)} ms of the server each second.`,
    ].join(" "),
    table(
      ["Kernels on the machine", "workflows a second, seen", "foretold", "seen to foretold"],
      seen.map((per_s, i) =>
        row(i + 1, whole(per_s), whole(foretold[i] ?? 0), (per_s / (foretold[i] ?? 1)).toFixed(2)),
      ),
    ),
  ];
}

const describeDatabase = (sizes: readonly Size[]): readonly string[] => [
  "## One database",
  [
    `Each kernel on a core of its own, the server with ${serverCores} cores,`,
    `${roundTrip} ms from one to the other, ${sync} ms a sync of its disk.`,
  ].join(" "),
  table(
    ["Kernels", "workflows a second", "median ms", "99th in 100, ms", "server busy", "turns a batch"],
    sizes.map(({ kernels, per_s, p50_ms, p99_ms, server_busy, turns_a_batch }) =>
      row(kernels, whole(per_s), whole(p50_ms), whole(p99_ms), share(server_busy), turns_a_batch.toFixed(1)),
    ),
  ),
  [
    "Throughput grows with the kernels until the server has no core left:",
    "then each further kernel only makes all of them wait.",
  ].join(" "),
];

const describeCells = (cell: Size, carried: (kernels: number) => Size): readonly string[] => [
  "## Cells",
  [
    "A tenant's streams never meet another's, so tenants are dealt out to cells: a database on a server of its own,",
    `with its kernels. A cell here\nhas ${cell.kernels} kernels,`,
    `with which its server is ${share(cell.server_busy)} busy.`,
  ].join(" "),
  table(
    ["Kernels", "cells", "workflows a second"],
    [10, 30, 100, 300, 1000].map((kernels) => {
      const cells = Math.ceil(kernels / cell.kernels);
      return row(whole(kernels), cells, whole(cells * carried(Math.ceil(kernels / cells)).per_s));
    }),
  ),
];

function describeDeath(apart: Parameters): readonly string[] {
  const usual = { pollMs: 200, lockMs: 18, takeUpTurns: 3, page: 256, seed: 1 };
  const rows = [2, 9, 19].flatMap((survivors) =>
    [64, 1000].map((running) => {
      const { p50_ms, last_ms } = simulateDeath(apart, { ...usual, survivors, running });
      return row(survivors, whole(running), whole(p50_ms), whole(last_ms));
    }),
  );
  return [
    "## When a kernel dies",
    [
      "Its session's lock is free within 18 ms, the others look five times a second,",
      "and take up what it had, 256 workflows at a time.",
    ].join(" "),
    table(["Kernels left", "workflows that were running", "half go on after, ms", "all, ms"], rows),
  ];
}

function describeFlood({ per_s }: Size): readonly string[] {
  const rows = [1, 4, 20].flatMap((cells) =>
    [null, 5].map((times) => {
      const rate = (per_s * cells) / 3 / 1000;
      const limit = times === null ? null : times * rate;
      const flood = (3 * per_s) / rate;
      const crowd = { cells, tenants: 1000, rate, flood, carries: per_s, limit, seconds: 5, seed: 1 };
      const { harmed, p99_ms } = simulateCrowd(crowd);
      return row(cells, times === null ? "none" : `${times} times the usual`, share(harmed), whole(p99_ms));
    }),
  );
  return [
    "## When a tenant floods",
    [
      "A thousand tenants who fill a third of all cells' room, and one among them who asks for three times what a cell",
      "carries. Who comes first is\nserved first.",
    ].join(" "),
    table(["Cells", "limit a tenant", "others who wait longer than a second", "99th in 100 of all others, ms"], rows),
    "Cells keep the harm to the flood's own; a limit a tenant (`budgets.limits`) keeps it from all.",
  ];
}

const describeChoice = (cell: Size): readonly string[] => [
  "## What to run",
  table(
    ["Need", "Run"],
    [
      row(
        "one process is enough, and seconds of a restart do no harm",
        "`sqliteLedger`, one kernel: nothing else to operate",
      ),
      row("one machine, several processes", "Postgres on it, and a kernel a core; leave cores to the server"),
      row("a machine may die", "Postgres with a synchronous standby, kernels on two machines or more"),
      row(
        `more than about ${cell.kernels} kernels of such a load, or tenants who must not meet`,
        "cells: tenants dealt out to databases, each with its kernels",
      ),
      row("Restate is there already", "its virtual objects drive the workflows; the ledger is in Postgres"),
    ],
  ),
];
