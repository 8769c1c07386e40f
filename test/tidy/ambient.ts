/**
 * Where the machine's own clock, chance, timers and environment may be touched. Everything else is given them, so that
 * one seed repeats a run. `setImmediate` is not on the list: it gives way to others, and waits for no time. A row is a
 * file or a folder (with its slash), the calls, and why.
 */

export interface AmbientRow {
  readonly path: string;
  readonly calls: readonly AmbientCall[];
  readonly why: string;
}

export const ambientCalls = [
  "Date.now",
  "new Date()",
  "performance.now",
  "process.hrtime",
  "Math.random",
  "crypto.randomUUID",
  "crypto.randomBytes",
  "crypto.randomInt",
  "crypto.getRandomValues",
  "setTimeout",
  "setInterval",
  "timers/promises",
  "process.env",
] as const;

export type AmbientCall = (typeof ambientCalls)[number];

const timing: readonly AmbientCall[] = ["Date.now", "new Date()", "performance.now", "process.hrtime"];
const timers: readonly AmbientCall[] = ["setTimeout", "setInterval", "timers/promises"];
const chance: readonly AmbientCall[] = [
  "Math.random",
  "crypto.randomUUID",
  "crypto.randomBytes",
  "crypto.getRandomValues",
];

export const ambientRows: readonly AmbientRow[] = [
  {
    path: "src/contract/ambient.ts",
    calls: ["Date.now", "Math.random"],
    why: "the default source of the factories that stand outside any kernel",
  },
  { path: "src/adapters/", calls: [...timing, ...timers, ...chance], why: "the wall clock and the seed are adapters" },
  {
    path: "src/faces/cli/",
    calls: [...timing, ...timers, "process.env"],
    why: "a terminal is the outside world: its time, its variables",
  },
  { path: "src/faces/cli/serve.ts", calls: ["crypto.randomBytes"], why: "the token of a server that was given none" },
  { path: "src/faces/cli/guard.ts", calls: ["crypto.randomBytes"], why: "the token of a guard that was given none" },
  {
    path: "src/faces/cli/dev.ts",
    calls: ["crypto.randomBytes"],
    why: "the token of a server that starts again and again",
  },
  {
    path: "src/faces/http/guard-request.ts",
    calls: ["setTimeout"],
    why: "how long a socket may take to be read: the machine's time, as node's own timeouts of sockets",
  },
  {
    path: "src/faces/http/serve-http.ts",
    calls: ["setTimeout"],
    why: "how long requests under way may take when the server closes: the machine's time, as its other limits",
  },
  {
    path: "src/hosts/restate/serve-drives.ts",
    calls: ["setTimeout"],
    why: "how long an answer may take to leave when the process stops: the machine's time, as that of its sockets",
  },
  {
    path: "src/faces/http/sessions.ts",
    calls: ["crypto.randomBytes"],
    why: "secrets of links and browser sessions; no seed may repeat them, and no record holds them",
  },
  {
    path: "src/ledger/postgres/",
    calls: ["setTimeout"],
    why: "which processes are alive, and how often a bell is rung, are matters of the machine's time",
  },
  {
    path: "src/ledger/postgres/store.ts",
    calls: ["crypto.randomUUID"],
    why: "by which an open ledger is told from others on one database; nothing of it is in the log",
  },
  {
    path: "src/ledger/postgres/owners.ts",
    calls: ["Date.now"],
    why: "how far the machine's clock is off the database's",
  },
  {
    path: "src/ledger/sqlite/same-file.ts",
    calls: ["Date.now"],
    why: "whether a folder's time of change is old enough to be told from the next",
  },
  {
    path: "src/ledger/sqlite/process-mark.ts",
    calls: ["crypto.randomUUID"],
    why: "a process is told from an earlier one of its number; nothing of it is in the log",
  },
  {
    path: "src/testing/let-run.ts",
    calls: ["setTimeout"],
    why: "what sockets and processes answer takes the machine's time; no virtual time passes meanwhile",
  },
  {
    path: "test/testing/test-kernel.test.ts",
    calls: ["setTimeout"],
    why: "a server and an operator that take the machine's time to answer are what is tested",
  },
  {
    path: "src/observers/telemetry/workflow-ids.ts",
    calls: ["crypto.randomBytes"],
    why: "ids of spans that are not ours; the SDK asks one generator for all",
  },
  {
    path: "src/observers/telemetry/observe-ledger.ts",
    calls: ["performance.now"],
    why: "how long a transaction really took; nothing rests on it",
  },
  {
    path: "src/faces/mcp/mcp-options.ts",
    calls: ["crypto.getRandomValues"],
    why: "the key that questions are sealed with is a secret of this process; no record ever holds it",
  },
  {
    path: "src/faces/protocols/agui/agui-options.ts",
    calls: ["crypto.getRandomValues"],
    why: "the key that interrupts are sealed with is a secret of this process; no record ever holds it",
  },
  {
    path: "src/faces/guard/hand-over.ts",
    calls: ["crypto.randomUUID"],
    why: "the claim of one request on a result, which no other request may make",
  },
  {
    path: "src/faces/mcp/mcp-sessions.ts",
    calls: ["crypto.randomUUID"],
    why: "the id of a session is a secret that nobody may guess; no record ever holds it",
  },
  {
    path: "src/packages/operators/files/file-write.ts",
    calls: ["crypto.randomUUID"],
    why: "the name of a temporary file; no record ever holds it",
  },
  {
    path: "src/packages/operators/git-log/run-git.ts",
    calls: ["process.env"],
    why: "the program it starts gets the host's environment",
  },
  {
    path: "src/ledger/sqlite/connect.ts",
    calls: ["timers/promises"],
    why: "waits for another process's lock on the file",
  },
  {
    path: "test/operators/",
    calls: ["process.env"],
    why: "shows that the started program's environment is a clean one",
  },
  {
    path: "test/hosts/servers/",
    calls: ["timers/promises", "process.env", "performance.now"],
    why: "calls of real processes take a while, a real server is asked until it answers, and figures are told",
  },
  {
    path: "test/postgres/node.ts",
    calls: ["Date.now"],
    why: "a call that had begun before its process was stopped is told from one of afterwards",
  },
  {
    path: "test/postgres/",
    calls: ["setTimeout", "timers/promises", "process.env"],
    why: "connections to a real server are cut after a while, and figures are told to whoever asks for them",
  },
  {
    path: "test/http/fuzz-api.ts",
    calls: ["performance.now"],
    why: "its figures say how long real requests take; nothing is judged by them",
  },
  {
    path: "test/http/raw-requests.test.ts",
    calls: ["setInterval"],
    why: "drips bytes at a server whose timeouts are those of real sockets",
  },
  { path: "test/guard/start-guard.ts", calls: ["process.env"], why: "what a guard's process begins with" },
  { path: "test/guard/die-at-commit.mjs", calls: ["process.env"], why: "the file that says where to die" },
  { path: "test/guard/call-many.ts", calls: ["performance.now"], why: "the time of many calls; no test rests on it" },
  {
    path: "test/cli/",
    calls: ["Date.now", "process.env"],
    why: "hands the command line the clock of a terminal, and what others have compiled",
  },
  { path: "test/ledgers/sqlite-connection.test.ts", calls: ["Date.now"], why: "processes that meet at one moment" },
  {
    path: "test/properties/",
    calls: ["process.env"],
    why: "seed and number of runs of all properties come from outside",
  },
  {
    path: "test/mutation/",
    calls: [...timers, "process.env"],
    why: "it runs the tests of a copy in processes of their own, and ends them",
  },
  {
    path: "test/console/",
    calls: ["Date.now", "process.env"],
    why: "a browser has the machine's clock; where it is unpacked to is said by the environment alone",
  },
  { path: "visualizations/console/api.ts", calls: ["Date.now"], why: "a page knows whether it was touched lately" },
  {
    path: "visualizations/console/decide.ts",
    calls: ["crypto.getRandomValues"],
    why: "an answer carries an idempotency key of its own",
  },
  { path: "visualizations/console/loaded.tsx", calls: timing, why: "a page says how long ago something was" },
  {
    path: "test/guide/readme-clone.test.ts",
    calls: ["process.env"],
    why: "gives the README's commands the PATH and the environment of a person's shell",
  },
  {
    path: "test/package/install-examples.ts",
    calls: ["performance.now"],
    why: "it tells how long an installation takes",
  },
  {
    path: "test/package/time-newcomer.ts",
    calls: ["performance.now", "process.env"],
    why: "it tells how long the way from npm takes, on the Node that the machine has",
  },
  {
    path: "test/package/examples.test.ts",
    calls: ["process.env"],
    why: "an example that drives a browser is told by the environment where it is",
  },
  { path: "test/bench/", calls: [...timing, ...timers, "process.env"], why: "a bench measures real time" },
  {
    path: "test/sim/",
    calls: [...timing, "process.env"],
    why: "long runs report their real length and take their seed from outside",
  },
];
