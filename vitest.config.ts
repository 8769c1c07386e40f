import { availableParallelism } from "node:os";
import { configDefaults, defineConfig } from "vitest/config";
import { canDispatch } from "./test/hosts/servers/can-dispatch.ts";
import { canServe } from "./test/postgres/can-serve.ts";

/** Most of a process's start is the reading of its sources: what one has compiled, the next ones read. */
process.env["NODE_COMPILE_CACHE"] ??= `${import.meta.dirname}/node_modules/.cache/node-compiled`;

/** Under REPLAY=1 every workflow of a test kernel is replayed. */
const replays = process.env["REPLAY"] === "1";
/** Returns the arguments of Node by which a worker loads a module before all others. */
const loadFirst = (path: string): string[] => ["--import", `${import.meta.dirname}/${path}`];

/**
 * Long ones, which wait for processes of their own: they begin first, so that nothing waits for them at the end. (Projects
 * are taken in the order of their names.)
 */
const byProcesses = [
  "test/agents/kills.test.ts",
  "test/guard/kills.test.ts",
  "test/guide/*.test.ts",
  "test/sim/crash-loop.test.ts",
  "test/mcp/conformance.test.ts",
  "test/mcp/processes.test.ts",
];

/** The package as npm would publish it, built and packed once for all of them. */
const packaged = ["test/package/*.test.ts"];

/** The console in a real browser, which is started once for all of them. */
const browsing = ["test/console/*.test.ts"];

/** Ledgers in a Postgres server, of which each worker has one: what holds its horizon back is in no other file's way. */
const onPostgres = ["test/postgres/*.test.ts", "test/hosts/servers/*.test.ts"];

/**
 * Files that change what the process shares (timers, the clock, `fetch`, `process.env`, the console), and one that
 * counts promises of the whole process.
 */
const isolated = [
  "test/http/sockets.test.ts",
  "test/invariants/outside.test.ts",
  "test/journey/promises.test.ts",
  "test/operators/git-log.test.ts",
  "test/pains/records.test.ts",
  "test/pains/resume.test.ts",
  "test/testing/fake-timers.test.ts",
  "test/tokens/events.test.ts",
];

/** Tests of the kernel whose ledgers are in Postgres here as well: the same tests, another store. */
const inBothStores = ["journey", "gates", "recovery", "replay", "streams"].map((room) => `test/${room}/*.test.ts`);
/** Of these, one copies ledger files as a power cut leaves them, and one moves the clock by days, half a minute a look. */
const inOneStore = ["test/recovery/durability.test.ts", "test/journey/lists.test.ts"];

const project = (
  name: string,
  test: {
    readonly include: string[];
    readonly exclude?: string[];
    readonly isolate: boolean;
    readonly globalSetup?: string[];
    readonly execArgv?: string[];
  },
) => ({ extends: true as const, test: { name, ...test } });

const inPostgres = [
  project("postgres", {
    include: onPostgres,
    exclude: canDispatch() ? [] : ["test/hosts/servers/restate.test.ts"],
    isolate: false,
    globalSetup: ["test/postgres/start-server.ts"],
  }),
  project("kernel on postgres", {
    include: inBothStores,
    exclude: inOneStore,
    isolate: false,
    globalSetup: ["test/postgres/start-server.ts"],
    execArgv: loadFirst("test/postgres/replace-sqlite.ts"),
  }),
];
const served = canServe();
if (!canDispatch()) console.warn("Tests on Restate are left out: npm brought no server for this system.");
if (!served) console.warn("Tests on Postgres are left out: its server cannot run from this folder as this user.");

export default defineConfig({
  test: {
    pool: "forks",
    // One more than there are processors: some tests wait for processes of their own, and leave one idle.
    maxWorkers: availableParallelism() + 1,
    // Only what hangs takes so long, however busy the machine is.
    testTimeout: 240_000,
    hookTimeout: 240_000,
    // Node loads the sources itself, as it does outside of tests: their modules are linked natively, and nothing is
    // transformed. The runner's own loader is for mocks, of which there are none.
    experimental: { viteModuleRunner: false, nodeLoader: false },
    execArgv: replays ? loadFirst("test/replay/replace-test-kernel.ts") : [],
    setupFiles: ["test/properties/setup.ts", ...(replays ? ["test/replay/setup.ts"] : [])],
    reporters: process.env["CI"] ? ["default"] : ["dot"],
    projects: [
      project("by processes", { include: byProcesses, isolate: true }),
      project("package", { include: packaged, isolate: false, globalSetup: ["test/package/pack-package.ts"] }),
      project("isolated", { include: isolated, isolate: true }),
      project("console", { include: browsing, isolate: false, globalSetup: ["test/console/start-browser.ts"] }),
      ...(served ? inPostgres : []),
      project("shared", {
        include: ["test/**/*.test.ts"],
        exclude: [...configDefaults.exclude, ...byProcesses, ...packaged, ...isolated, ...browsing, ...onPostgres],
        isolate: false,
      }),
    ],
  },
});
