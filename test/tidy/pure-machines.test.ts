/** The machines are pure: they name what they need, do nothing when loaded, and can be opened anywhere. */
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { describe, expect, it } from "vitest";
import type { AnyStateMachine } from "xstate";
import * as machines from "../../machines/index.ts";
import { importsOf, nameOf, nodesOf, placeOf, root, sourcesIn, stringOf } from "./source-files.ts";

const files = sourcesIn("machines");
const charts = Object.entries(machines).filter((entry): entry is [string, AnyStateMachine] =>
  entry[0].endsWith("Machine"),
);

const impureNames: ReadonlySet<string> = new Set([
  "Date",
  "Math",
  "setTimeout",
  "setInterval",
  "setImmediate",
  "queueMicrotask",
  "fetch",
  "process",
  "console",
  "performance",
  "crypto",
  "globalThis",
  "require",
  "XMLHttpRequest",
  "WebSocket",
]);
/** Reading an instant that is given as text asks no clock. */
const pureCalls: ReadonlySet<string> = new Set(["Date.parse", "Math.max", "Math.min"]);

describe("the source of a machine", () => {
  it("[CARD-15] imports xstate, its own room, the event catalogue and types of the contract", () => {
    const wrong = files.flatMap(importsOf).filter((edge) => {
      if (edge.file === null) return edge.package !== "xstate";
      const isType = edge.file.startsWith("src/contract/") && edge.kind === "type";
      return !edge.file.startsWith("machines/") && !isType && edge.file !== "src/contract/events.ts";
    });
    expect(wrong.map((edge) => `${edge.from}:${edge.line}  imports ${edge.specifier}`)).toEqual([]);
  });

  it("[CARD-15] the event catalogue that the machines load loads nothing but its own rows", () => {
    const ofCatalogue = sourcesIn("src/contract").filter(({ path }) => /^src\/contract\/events[./]/.test(path));
    const loaded = ofCatalogue.flatMap(importsOf).filter(({ kind }) => kind !== "type");
    expect(loaded.filter(({ file }) => file?.startsWith("src/contract/events/") !== true)).toEqual([]);
    expect(loaded.length).toBeGreaterThan(5);
  });

  it("[CARD-15] touches no clock, chance, timer, network, process or console", () => {
    const wrong = files.flatMap((file) => {
      const nodes = nodesOf(file);
      const pure = new Set(
        nodes.filter((n) => pureCalls.has(`${nameOf(n["object"])}.${nameOf(n["property"])}`)).map((n) => n["object"]),
      );
      return nodes
        .filter((n) => impureNames.has(nameOf(n) ?? "") && !pure.has(n))
        .map((n) => `${placeOf(file, n)}  ${nameOf(n)}`);
    });
    expect(wrong).toEqual([]);
  });

  it("[CARD-15] schedules and invokes nothing: no `after`, no `invoke`, no spawning", () => {
    const forbidden: ReadonlySet<string> = new Set([
      "after",
      "invoke",
      "delays",
      "actors",
      "spawn",
      "spawnChild",
      "sendTo",
      "raise",
    ]);
    const wrong = files.flatMap((file) =>
      nodesOf(file)
        .filter((node) => forbidden.has(nameOf(node["key"]) ?? stringOf(node["key"]) ?? nameOf(node["callee"]) ?? ""))
        .map((node) => placeOf(file, node)),
    );
    expect(wrong).toEqual([]);
  });
});

/** Loads a module with every door to the outside counted. Prints what was touched. */
const watch = (url: string): string => `
  const touched = [];
  const note = (name) => (...args) => { touched.push(name); };
  const write = process.stdout.write.bind(process.stdout);
  const doors = ["setTimeout", "setInterval", "setImmediate", "queueMicrotask", "fetch"];
  for (const name of doors) globalThis[name] = note(name);
  for (const name of Object.keys(console)) console[name] = note("console." + name);
  process.stdout.write = process.stderr.write = note("write");
  const { now } = Date; Date.now = () => { touched.push("Date.now"); return now(); };
  const { random } = Math; Math.random = () => { touched.push("Math.random"); return random(); };
  await import(${JSON.stringify(url)});
  const open = process.getActiveResourcesInfo().filter((name) => /Timeout|Immediate|TCP|FSReq/.test(name));
  write(JSON.stringify(touched.concat(open)));
`;

describe("loading a machine", () => {
  it.each(files.map((file) => file.path))("[CARD-15] %s, alone, schedules and logs nothing", (path) => {
    const script = watch(pathToFileURL(join(root, path)).href);
    const output = execFileSync(process.execPath, ["--input-type=module", "--eval", script], { encoding: "utf8" });
    expect(JSON.parse(output)).toEqual([]);
  });
});

/** Where a value holds something that no JSON can carry. */
function findOpaque(value: unknown, path: string): string[] {
  if (typeof value === "function" || typeof value === "symbol" || typeof value === "bigint")
    return [`${path} is a ${typeof value}`];
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) => findOpaque(inner, `${path}.${key}`));
}

function findGuards(value: unknown): unknown[] {
  if (typeof value !== "object" || value === null) return [];
  const own = "guard" in value && value.guard !== undefined ? [value.guard] : [];
  return [...own, ...Object.values(value).flatMap(findGuards)];
}

describe("the definition of a machine", () => {
  it("[CARD-15] all seven are here", () => {
    expect(charts.map(([, chart]) => chart.id).sort()).toEqual([
      "action",
      "gate",
      "kernel",
      "step",
      "tier",
      "token",
      "workflow",
    ]);
  });

  it.each(charts)("[CARD-15] %s serialises with names in place of implementations", (_name, chart) => {
    expect(findOpaque(chart.config, chart.id)).toEqual([]);
    const written = JSON.parse(JSON.stringify(chart.definition));
    expect(written.id).toBe(chart.id);
    expect(findGuards(written).filter((guard) => typeof guard !== "string")).toEqual([]);
    expect(JSON.parse(JSON.stringify(chart.config))).toEqual(chart.config);
  });

  it.each(charts)("[CARD-15] every guard that %s names is provided", (_name, chart) => {
    const provided = Object.keys(chart.implementations.guards ?? {}).sort();
    expect([...new Set(findGuards(chart.config))].sort()).toEqual(provided);
  });
});
