/**
 * The guide's tables that the sources say already: error codes by tier, limits by who holds them, instruments.
 *
 * Owns: how a row is read from a docstring. Never: the text above the tables, which is written by hand.
 */
import { errorCodes } from "../../src/contract/error-codes.ts";
import { payloadDefaults, type RecordDefaults } from "../../src/contract/row-defaults.ts";
import { envelopeDefaults } from "../../src/contract/turn.ts";
import { defaultEventLimits } from "../../src/faces/events/index.ts";
import { defaultHttpLimits, defaultServerLimits } from "../../src/faces/http/index.ts";
import { defaultMcpClientLimits, defaultMcpLimits } from "../../src/faces/mcp/index.ts";
import { defaultAgentLimits } from "../../src/faces/protocols/a2a/index.ts";
import { defaultLimits } from "../../src/index.ts";
import { defaultObserverLimits, instruments } from "../../src/observers/telemetry/index.ts";
import { prometheusNameOf } from "../../src/observers/telemetry/prometheus-meter.ts";
import { readSource } from "../tidy/source-files.ts";

const tiers = [
  "edges, ledger, kernel",
  "perception",
  "context",
  "planning",
  "execution",
  "authority, budget, gates",
  "judgement, notices",
  "which workflows run, which model is asked",
];

/** `## T0: …` and so on, a row a code. */
export const errorTables = (): string =>
  tiers.map((what, tier) => `## T${tier}: ${what}\n\n${tableOfErrors(`T${tier}_`)}`).join("\n\n");

function tableOfErrors(prefix: string): string {
  const rows = Object.entries(errorCodes)
    .filter(([code]) => code.startsWith(prefix))
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
    .map(([code, { http, retryable, next }]) => `| \`${code}\` | ${http} | ${retryable ? "yes" : "no"} | ${next} |`);
  return ["| Code | HTTP | Again | Do |", "|---|---|---|---|", ...rows].join("\n");
}

const limits = [
  ["Of a kernel", "`createKernel({ limits })`", defaultLimits, "src/engine/actors/runtime.ts"],
  ["Of the HTTP API", "`createHttpApp(kernel, { limits })`", defaultHttpLimits, "src/faces/http/http-options.ts"],
  ["Of its server", "`serveHttp(app, { limits })`", defaultServerLimits, "src/faces/http/serve-http.ts"],
  ["Of MCP", "`createMcpHandler(kernel, { limits })` and its like", defaultMcpLimits, "src/faces/mcp/mcp-options.ts"],
  [
    "Of A2A and AG-UI",
    "`createA2aHandler(kernel, { limits })`, `createAgUiHandler(kernel, { limits })`",
    defaultAgentLimits,
    "src/faces/protocols/agent-options.ts",
  ],
  [
    "Of the receiver of events",
    "`createEventReceiver(kernel, { limits })`",
    defaultEventLimits,
    "src/faces/events/event-options.ts",
  ],
  [
    "Towards a server of tools",
    "`mcpOperators({ limits })`",
    defaultMcpClientLimits,
    "src/packages/operators/mcp/mcp-limits.ts",
  ],
  [
    "Of an observer",
    "`createObserver({ limits })`",
    defaultObserverLimits,
    "src/observers/telemetry/create-observer.ts",
  ],
] as const;

/** A heading for each holder, a row a limit. */
export const limitTables = (): string =>
  limits
    .map(([title, option, defaults, path]) => `## ${title}\n\n${option}\n\n${tableOfLimits(defaults, path)}`)
    .join("\n\n");

function tableOfLimits(defaults: (typeof limits)[number][2], path: string): string {
  const said = new Map([...readDocstrings(path), ...readDocstrings("src/contract/federation.ts")]);
  const rows = Object.entries<number>({ ...defaults }).map(
    ([name, value]) => `| \`${name}\` | ${value.toLocaleString("en")} | ${said.get(name) ?? ""} |`,
  );
  return ["| Limit | Default | Bounds |", "|---|---|---|", ...rows].join("\n");
}

/** What stands before each member, in one line. */
function readDocstrings(path: string): readonly (readonly [string, string])[] {
  const found = readSource(path).text.matchAll(/\/\*\*((?:(?!\*\/)[\s\S])*)\*\/\s*(?:readonly )?(\w+): /g);
  return [...found].map(([, told = "", name = ""]) => [name, told.replace(/\s+\*?\s*/g, " ").trim()]);
}

type Instrument = keyof typeof instruments;

/** A row an instrument, as Prometheus spells it and as OpenTelemetry does. */
export function instrumentTable(): string {
  const rows = (Object.keys(instruments) as readonly Instrument[]).map((key) => {
    const { name, kind, labels, help } = instruments[key];
    const by = labels.length === 0 ? "none" : labels.join(", ");
    return `| \`${prometheusNameOf(key)}\` | \`${name}\` | ${kind} | ${by} | ${help}. |`;
  });
  const head = ["| Prometheus | OpenTelemetry | Kind | Labels | It says |", "|---|---|---|---|---|"];
  return ["## All metrics\n", "Prometheus has `_` for each `.` of a label.\n", ...head, ...rows].join("\n");
}

/** Returns the table of the members that a row leaves out, and the heading above it. */
export function defaultsTable(): string {
  const ofEnvelope = { ...envelopeDefaults("").values, workflow_id: "the stream" };
  const ofEvent = { step_id: null, plan_id: "the envelope's", actor: "the envelope's" };
  const rows = [
    ...rowsOfDefaults("the envelope", { values: ofEnvelope }),
    ...rowsOfDefaults("an event", { values: ofEvent }),
    ...typesByDefaults().flatMap(([types, defaults]) => rowsOfDefaults(types, defaults)),
  ];
  return ["## Members that are left out\n", "| Of | Member | Default |", "|---|---|---|", ...rows].join("\n");
}

/** Returns the defaults of payloads, each with the types whose payloads have them. */
function typesByDefaults(): readonly (readonly [string, RecordDefaults])[] {
  const groups = Map.groupBy(Object.entries(payloadDefaults), ([, defaults]) => JSON.stringify(defaults));
  return [...groups.values()].flatMap((group) => {
    const types = group.map(([type]) => `\`${type}\``).join(", ");
    return group.slice(0, 1).map(([, defaults]) => [types, defaults] as const);
  });
}

function rowsOfDefaults(of: string, { values, inside = {} }: RecordDefaults, at = ""): readonly string[] {
  const own = Object.entries(values).map(([name, value]) => `| ${of} | \`${at}${name}\` | ${showDefault(value)} |`);
  return [...own, ...Object.entries(inside).flatMap(([name, more]) => rowsOfDefaults(of, more, `${at}${name}.`))];
}

/** Returns a default as JSON, or in words where it is that of another member. */
const showDefault = (value: unknown): string =>
  typeof value === "string" && value.startsWith("the ") ? value : `\`${JSON.stringify(value)}\``;
