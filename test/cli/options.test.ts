// Option values: what is read from them, and how a bad one is refused with its position.

import { readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { commandGroups, ownOptions, sharedOptions } from "../../src/faces/cli/arrange-help.ts";
import { fileAsTyped, invocation } from "../../src/faces/cli/invocation.ts";
import { loadModules, sortExports } from "../../src/faces/cli/load-modules.ts";
import { findJsonError, readId, readInstant, readJson, readJsonObject, readList } from "../../src/faces/cli/options.ts";
import { quoteWord } from "../../src/faces/cli/render-text.ts";
import { commandLine } from "../../src/faces/cli/show-result.ts";
import { runAt, runHere } from "./command-line.ts";

const options = {
  db: "x.db",
  capabilities: [],
  policies: [],
  json: false,
  tenant: 1,
  principal: "local",
  role: "user",
};

describe("JSON options", () => {
  it.each([
    ['{"a": x}', 6],
    ["abc", 0],
    ["[1,]", 3],
    ['{"a":1} x', 8],
    ['{"a":tru}', 8],
    ["[1 2]", 3],
    ['{"a":1', 6],
    ["", 0],
    ['"abc', 4],
  ])("finds where %s goes wrong", (text, position) => expect(findJsonError(text)).toBe(position));

  it("refuses an object that names a member twice, of which JSON.parse would drop the first", () => {
    expect(() => readJson('{"amount":1,"amount":2}')).toThrow(/names a member twice/);
    expect(() => readJsonObject('{"a":{"b":1,"b":2}}')).toThrow(/names a member twice/);
    expect(readJson('{"a":{"b":":"},"c":[{"b":1}]}')).toEqual({ a: { b: ":" }, c: [{ b: 1 }] });
  });

  it("names the place, over lines too", () => {
    expect(() => readJson('{\n  "a": x}')).toThrow(/position 9, line 2, column 8/);
    for (const lost of ['{"a":1,"a":2}', '{"a":9007199254740993}', '{"a":1e400}', '{"__proto__":{}}'])
      expect(() => readJson(lost)).toThrow(/loses its meaning/);
    expect(() => readJsonObject("[1]")).toThrow(/JSON object/);
    expect(() => readJson("@/does/not/exist.json")).toThrow(/cannot be read/);
  });

  it("finds the inserted character in any JSON text", () => {
    fc.assert(
      fc.property(fc.json(), fc.nat(), (text, where) => {
        const at = where % (text.length + 1);
        const broken = `${text.slice(0, at)}\u0001${text.slice(at)}`;
        // A control character is nowhere allowed in JSON.
        expect(findJsonError(broken)).toBe(at);
      }),
    );
  });
});

describe("ids and lists", () => {
  it("reads digits as a number and all else as text", () => {
    expect(["1", "a1", "99999999999999999999", "-3", "1.5"].map(readId)).toEqual([
      1,
      "a1",
      "99999999999999999999",
      -3,
      "1.5",
    ]);
  });

  it("reads lists", () => expect(readList(" a, b,,c ")).toEqual(["a", "b", "c"]));
});

describe("instants", () => {
  it.each([
    ["2027-01-01", "2027-01-01T00:00:00.000Z"],
    ["2027-01-01T12:00:00Z", "2027-01-01T12:00:00.000Z"],
    ["2027-01-01T12:00:00.123456+02:00", "2027-01-01T10:00:00.123Z"],
  ])("reads %s in UTC", (value, instant) => expect(readInstant(value)).toBe(instant));
});

describe("modules", () => {
  it("sorts packages, operators and policies by their shape, each once", () => {
    const pack = { intentType: "A.B", operators: [], plan: {} };
    const operator = { metadata: {}, run: () => null };
    const policy = { stages: ["plan"], evaluate: () => null };
    const sorted = sortExports({ default: pack, pack, list: [operator, policy], other: 3, nothing: null, text: "x" });
    expect(sorted).toEqual({ capabilities: [pack], operators: [operator], policies: [policy], closables: [] });
  });

  it("takes the operators of what has to be closed, and says what that is", () => {
    const operator = { metadata: {}, run: () => null };
    const open = { operators: [operator], [Symbol.asyncDispose]: async () => undefined };
    expect(sortExports({ open })).toEqual({ capabilities: [], operators: [operator], policies: [], closables: [open] });
  });

  it("refuses a module that is not there or brings nothing", async () => {
    await expect(loadModules(["./not-there.ts"])).rejects.toMatchObject({ error: { code: "T0_CLI_FILE_INVALID" } });
    await expect(loadModules(["test/cli/render-nothing.ts"])).rejects.toMatchObject({
      error: { code: "T0_CLI_FILE_INVALID" },
    });
    await expect(loadModules(["src/faces/cli/render-text.ts"])).rejects.toThrow(/exports no capability package/);
    expect((await loadModules(["src/packages/capabilities/index.ts"])).capabilities).toHaveLength(3);
  });
});

describe("commands to copy", () => {
  it("name the ledger, and the caller where it is not the default one", () => {
    expect(commandLine(options, "approve", "wf_1", "gate-a")).toBe(
      `${invocation()} approve wf_1 gate-a --db ${fileAsTyped("x.db")}`,
    );
    const other = {
      ...options,
      db: "my ledger.db",
      tenant: "t 1",
      principal: "eve",
      role: "admin",
      capabilities: ["./m.ts"],
      policies: ["strict.yaml"],
    };
    const files = `--db ${quoteWord(fileAsTyped("my ledger.db"))} --capabilities ./m.ts`;
    const rest = `--policies ${fileAsTyped("strict.yaml")} --tenant 't 1' --principal eve --role admin`;
    expect(commandLine(other, "show", "wf_1")).toBe(`${invocation()} show wf_1 ${files} ${rest}`);
  });
});

describe("the help", () => {
  it.each([
    ["delegate", 2],
    ["backup", 1],
    ["migrate", 1],
    ["show", 0],
  ] as const)("of %s says of %i options that they must be there", async (command, count) => {
    const { out } = await runHere(command, "--help");
    expect(out.match(/\(required\)/g) ?? []).toHaveLength(count);
  });

  it("groups the commands by task, and fits 80 columns", async () => {
    const { out } = await runAt({ columns: 80 }, "--help");
    const listed = out.split("\n").flatMap((line) => /^(?: {2}([a-z]\S*)|([A-Z].*:)$)/.exec(line)?.[0].trim() ?? []);
    const groups = Object.entries(commandGroups).flatMap(([heading, names]) => [heading, ...names]);
    expect(listed).toEqual(["Options:", ...groups, "help"]);
    expect(out.split("\n").filter((line) => line.length > 80)).toEqual([]);
  });

  it.each(["serve", "list", "inspect"])("of %s begins with the options of its own", async (command) => {
    const { out } = await runHere(command, "--help");
    const [own, shared] = [out.indexOf(`\n${ownOptions}`), out.indexOf(`\n${sharedOptions}`)];
    expect(0 < own && own < out.indexOf("--help") && out.indexOf("--help") < shared).toBe(true);
    expect(out.indexOf("--db ")).toBeGreaterThan(shared);
  });

  it("and the guide's page name the same commands", () => {
    const page = readFileSync(new URL("../../src/guide/command-line.md", import.meta.url), "utf8");
    const named = new Set(
      page
        .split("\n")
        .filter((line) => line.startsWith("| `"))
        .flatMap((line) => [...(line.split(/(?<!\\)\|/)[1] ?? "").matchAll(/`([a-z-]+)/g)].map(([, name]) => name)),
    );
    expect(
      Object.values(commandGroups)
        .flat()
        .filter((name) => !named.has(name)),
    ).toEqual([]);
  });

  it("of approve and reject says what follows of each", async () => {
    expect((await runHere("approve", "--help")).out.replace(/\s+/g, " ")).toContain("the workflow then goes on");
    expect((await runHere("reject", "--help")).out.replace(/\s+/g, " ")).toContain("then ends as cancelled");
  });
});
