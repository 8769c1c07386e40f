/**
 * The ladder: which room may import which. Rows stand from the top floor to the ground; a room imports rooms of lower
 * rows that its own row names, and itself. The page about architecture draws the same table.
 *
 * A new room gets a row. A row that must change says why beside it.
 */

export interface Floor {
  /**
   * A folder under `src`, `src/*.ts` by its name without the ending, `machines`, `visualizations`, or `console` in
   * that. A trailing `/*`: one room each.
   */
  readonly room: string;
  readonly may: readonly string[];
  /** Third-party packages; "declared" allows whatever package.json names as a dependency. */
  readonly packages: readonly string[] | "declared";
  readonly builtins: readonly string[] | "any";
  /** Of what may be imported, what must be `import type`. */
  readonly typesOnly?: readonly string[];
  /** A file of a room that is imported as types only, which may be loaded nevertheless. */
  readonly mayLoad?: string;
  /** Of what may be imported, what must be `await import(…)`, so that nothing loads it before it is needed. */
  readonly dynamicOnly?: readonly string[];
}

const ground = ["protocol", "ports", "contract"] as const;

export const ladder: readonly Floor[] = [
  {
    // What runs in a browser: records as types, and the rules by which text is shown. It folds and decides nothing.
    room: "console",
    may: ["observers/drawing", "protocol", "contract"],
    packages: ["preact", "@preact/signals"],
    builtins: [],
    typesOnly: ["contract"],
  },
  // Drawings are made of the machines; the page draws them from their definitions, by the same files.
  { room: "visualizations", may: ["observers/drawing", "machines"], packages: ["xstate", "vite"], builtins: "any" },
  {
    // The command line composes everything: the adapters, hosts and ports as well, for the options that choose them.
    room: "faces/cli",
    may: [
      "faces/http",
      "faces/mcp",
      "faces/guard",
      "faces/agents",
      "faces/protocols",
      "faces/events",
      "observers/telemetry",
      "observers/inspect",
      "observers/drawing",
      "testing",
      "index",
      "ledger",
      "packages/operators",
      "packages/policies",
      "packages/capabilities",
      "adapters",
      "define",
      ...ground,
    ],
    packages: "declared",
    builtins: "any",
  },
  {
    // A guard asks people and reads callers as the MCP face does, and reaches servers as the operators do.
    room: "faces/guard",
    may: ["faces/mcp", "index", "packages/operators", "protocol", "contract"],
    packages: "declared",
    builtins: "any",
  },
  // An agent's tool calls are workflows of the public kernel; a framework's own types stay in its folder.
  { room: "faces/agents", may: ["index", "protocol", "contract"], packages: "declared", builtins: [] },
  {
    // Its streams are those of the HTTP face, and its notifications are posted and signed as notifiers do.
    room: "faces/protocols",
    may: ["faces/http", "observers/notifiers", "index", "protocol", "contract"],
    packages: "declared",
    builtins: "any",
  },
  // Its refusals are those of the HTTP face, and signatures are checked as notifiers make them.
  {
    room: "faces/events",
    may: ["faces/http", "observers/notifiers", "index", "protocol", "contract"],
    packages: "declared",
    builtins: "any",
  },
  // It streams what an inspector is told.
  {
    room: "faces/http",
    may: ["observers/inspect", "index", "api", "protocol", "contract"],
    packages: "declared",
    builtins: "any",
  },
  {
    room: "faces/mcp",
    may: ["index", "api", "packages/operators", "protocol", "contract"],
    packages: "declared",
    builtins: "any",
  },
  // It reads events and the folded record: the words of both are the contract's.
  { room: "observers/telemetry", may: ["index", "protocol", "contract"], packages: "declared", builtins: "any" },
  // They tell of gates in the contract's words, as the port asks; a clock and the port come by the public face.
  { room: "observers/notifiers", may: ["index", "protocol", "contract"], packages: "declared", builtins: "any" },
  // It plays a ledger's events by the charts, which are public too; a flow's chart says what a drawing says.
  {
    room: "observers/inspect",
    may: ["index", "machines", "observers/drawing", "protocol", "contract"],
    packages: "declared",
    builtins: "any",
  },
  // Pictures are made of plain data and text: pages and scripts draw with it too.
  { room: "observers/drawing", may: ["protocol", "contract"], packages: [], builtins: [] },
  // The port suites check what the ports promise; the test kernel is the kernel with other parts in its ports.
  {
    room: "testing",
    may: ["index", "create-kernel", "kernel", "engine", "ledger/sqlite", "adapters", ...ground],
    packages: ["zod"],
    builtins: ["node:async_hooks", "node:timers"],
  },
  {
    // Hosts implement ports and subscribe to the bus: the types of both are public. So are the defaults that a host
    // builds on: limits, roles, a seeded source of randomness.
    room: "index",
    may: ["create-kernel", "api", "replay", "kernel", "standalone", "tiers", "engine", "adapters", "define", ...ground],
    packages: ["rxjs"],
    builtins: [],
    typesOnly: ["rxjs", "ports"],
  },
  {
    // The door: it opens, serves and stops what the rooms below assemble, read and replay.
    room: "create-kernel",
    may: ["api", "replay", "kernel", "tiers", "machines", "contract"],
    packages: [],
    builtins: [],
  },
  {
    // It declares the operations of the kernel's interface, with the schemas of the contract; the door checks arguments
    // by it and the faces derive from it.
    room: "api",
    may: ["kernel", "contract"],
    packages: ["zod"],
    builtins: [],
    typesOnly: ["kernel"],
  },
  {
    // It feeds a record to the deciding of T4, with the parts and rules that the kernel's room assembles.
    room: "replay",
    may: ["kernel", "tiers", "engine", "machines", "adapters", "ports", "contract"],
    packages: ["zod"],
    builtins: [],
    typesOnly: ["ports"],
  },
  {
    // The public face reads what the machines' fold makes of the ledger, and says the type of the bus that a host may
    // watch.
    room: "kernel",
    may: ["tiers", "hosts/embedded", "engine", "machines", "ledger/sqlite", "adapters", "define", ...ground],
    packages: ["zod", "rxjs"],
    builtins: [],
    typesOnly: ["rxjs"],
    dynamicOnly: ["ledger/sqlite"],
  },
  // Parts that users can take without a kernel (tokens, reviews, shared memory, a DAG executor, older spellings). Only
  // `index` imports them.
  {
    room: "standalone",
    may: ["tiers", "engine", "machines", "adapters", "protocol", "contract"],
    packages: ["zod"],
    builtins: [],
  },
  // Tiers check what operators are given and give back against the operators' own schemas, hence zod.
  { room: "tiers/*", may: ["engine", "machines", ...ground], packages: ["zod"], builtins: [] },
  { room: "hosts/*", may: ["engine", "machines", ...ground], packages: "declared", builtins: "any" },
  // What follows committed rows: feeds, tails and notices.
  {
    room: "engine/follow",
    may: ["engine/log", "engine/actors", "machines", "define", ...ground],
    packages: [],
    builtins: [],
  },
  // What appends and holds the log of a workflow or a tenant.
  { room: "engine/log", may: ["engine/actors", "machines", "define", ...ground], packages: [], builtins: [] },
  // One file takes and enters async contexts, so that no caller's context reaches another's host code. Another one has
  // the machine's own setImmediate, whatever fake a test runner has put in the place of the global one.
  {
    room: "engine/actors",
    may: ["machines", "define", ...ground],
    packages: ["xstate", "rxjs"],
    builtins: ["node:async_hooks", "node:timers"],
  },
  { room: "packages/capabilities", may: ["packages/operators", "define", ...ground], packages: ["zod"], builtins: [] },
  // Signed bundles are verified as signed approvals are.
  { room: "packages/policies", may: ["adapters", "define", ...ground], packages: "declared", builtins: "any" },
  { room: "packages/operators", may: ["define", ...ground], packages: "declared", builtins: "any" },
  { room: "ledger/*", may: ["ledger/tables", "define", ...ground], packages: "declared", builtins: "any" },
  // What stores with tables decide alike: pure, and without a driver.
  { room: "ledger/tables", may: ["ports", "contract"], packages: [], builtins: [] },
  { room: "adapters", may: ["define", ...ground], packages: "declared", builtins: "any" },
  // Foreign patterns are stopped by the engine's own limit.
  { room: "define", may: ["contract"], packages: ["zod"], builtins: ["node:vm"] },
  // Old spellings are read through schemas before they become Signals, hence zod.
  // YAML is read for HTTP and the command line alike, and loaded when there is some.
  { room: "protocol", may: ["contract"], packages: ["zod", "yaml", "croner"], builtins: [] },
  { room: "ports", may: ["contract"], packages: [], builtins: [] },
  {
    // The event catalogue says which charts an event is for. It loads no package, so the machines still load xstate
    // alone.
    room: "machines",
    may: ["contract"],
    packages: ["xstate"],
    builtins: [],
    typesOnly: ["contract"],
    mayLoad: "src/contract/events.ts",
  },
  { room: "contract", may: [], packages: ["zod", "ulid"], builtins: ["node:crypto"] },
];

/** The rooms of `src/tiers/t4-execution/decide/`: a room imports itself and rooms to its left. */
export const decideRooms = ["run", "payload", "call", "gate", "step", "plan"] as const;

/** Single files that alone may use what their room's row allows: [room, package or builtin, file]. */
export const onlyIn: readonly (readonly [string, string, string])[] = [
  ["contract", "node:crypto", "src/contract/digest.ts"],
  ["contract", "ulid", "src/contract/ids.ts"],
  ["protocol", "yaml", "src/protocol/read-yaml.ts"],
  ["protocol", "croner", "src/protocol/schedule-instants.ts"],
];

/** The room of a file: `tiers/t4-execution`, `contract`, `index`, `machines`. */
export function roomOf(path: string): string {
  const [top = "", second = "", third = ""] = path.split("/");
  if (top === "visualizations" && second === "console") return second;
  if (top !== "src") return top;
  if (path.split("/").length === 2) return second.replace(/\.[a-z]+$/, "");
  return floorOf(`${second}/${third}`) === undefined ? second : `${second}/${third}`;
}

export function floorOf(room: string): Floor | undefined {
  return (
    ladder.find((floor) => floor.room === room) ?? ladder.find((floor) => floor.room === `${room.split("/")[0]}/*`)
  );
}

/** Whether a row's list names the room, itself or with the rooms beside it. */
export const isListed = (list: readonly string[], room: string): boolean =>
  list.includes(room) || list.includes(room.split("/")[0] as string);
