import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import { Inspection } from "../../src/contract/inspection.ts";
import { main } from "../../src/faces/cli/main.ts";
import { Interrupted, type Terminal } from "../../src/faces/cli/terminal.ts";
import type { TempFolder } from "../operators/temp-folder.ts";
import { endOf, readLines, runHere, startProcess } from "./command-line.ts";
import { serveHere } from "./serve-here.ts";
import { demonstrate, keepAs, makeWorkplace } from "./workplace.ts";

let folder: TempFolder;
let db = "";
let id = "";
let rows = "";
beforeAll(async () => {
  const workplace = makeWorkplace();
  ({ folder, db } = workplace);
  ({ id, rows } = await demonstrate(workplace));
});
afterAll(() => folder[Symbol.dispose]());

const exportedAs = (name: string, text: string): string => keepAs(folder, name, text);

async function told(...args: readonly string[]): Promise<readonly Inspection[]> {
  const ran = await runHere("inspect", ...args, "--json");
  expect(ran.err).toBe("");
  return readLines(ran.out).map((line) => Inspection.parse(line));
}

describe("inspect", () => {
  it("prints the same of a ledger and of its export, without a word that people or programs wrote", async () => {
    const fromLedger = await told(id, "--db", db);
    const file = exportedAs("whole.jsonl", rows);
    expect(await told("--import", file)).toEqual(fromLedger);
    expect(await told(id, "--import", file)).toEqual(fromLedger);
    expect(JSON.stringify(fromLedger)).not.toContain("mend the hinge");
    expect(JSON.stringify(await told(id, "--db", db, "--payloads"))).toContain("mend the hinge");
  });

  it("writes a page that plays the run, the same of a ledger and of its export", async () => {
    const file = exportedAs("whole.jsonl", rows);
    const at = (name: string): string => join(folder.path, name);
    const wrote = await runHere("inspect", id, "--db", db, "--html", at("ledger.html"));
    expect([wrote.code, wrote.out]).toEqual([
      0,
      `wrote ${at("ledger.html")}: open it in a browser; it needs no network\n`,
    ]);
    await runHere("inspect", "--import", file, "--html", at("export.html"));
    const [one, other] = ["ledger.html", "export.html"].map((name) => readFileSync(at(name), "utf8"));
    const untimed = (html = ""): string => html.replace(/"made_at":"[^"]*"/, "");
    expect(untimed(one) === untimed(other)).toBe(true);
    expect(one).toContain("mend the hinge");
    expect(one?.match(/<script/g)).toHaveLength(2);
    const refused = await runHere("inspect", id, "--db", db, "--html", at("no/such/folder.html"));
    expect([refused.code, refused.err.includes("cannot be written")]).toEqual([2, true]);
  });

  it("plays up to a sequence number", async () => {
    const part = await told(id, "--db", db, "--at", "5");
    const sequences = part.flatMap((message) => (message.type === "@xstate.event" ? [message.event["sequence"]] : []));
    expect(Math.max(...(sequences as number[]))).toBe(5);
  });

  it("serves a page whose feed tells the workflow, until it is interrupted", async () => {
    const interruption = new AbortController();
    const listening = Promise.withResolvers<string>();
    const terminal = {
      ...{ interactive: false, live: false, columns: 100, now: Date.now, signal: interruption.signal },
      paint: (_style: unknown, line: string) => line,
      print: (line: string) => listening.resolve(line),
      write: () => undefined,
      complain: (line: string) => listening.reject(new Error(line)),
      printAll: () => Promise.resolve(),
      settle: () => Promise.resolve(),
    } as unknown as Terminal;
    const ended = main(["inspect", id, "--db", db, "--port", "0", "--speed", "1000"], terminal);
    const url = /http:\/\/[\d.:]+/.exec(await listening.promise)?.[0] ?? "";
    const got: string[] = [];
    const viewer = new WebSocket(url.replace("http", "ws"));
    viewer.on("message", (data) => void got.push(String(data)));
    const [code] = await new Promise<readonly [number]>((resolve) => viewer.on("close", (n) => resolve([n])));
    const isHost = ({ sessionId, type }: Inspection): boolean => type === "@xstate.actor" && !/[_:]/.test(sessionId);
    const seen = got.map((line) => Inspection.parse(JSON.parse(line))).filter((message) => !isHost(message));
    expect([code, seen]).toEqual([1000, (await told(id, "--db", db)).filter((message) => !isHost(message))]);
    interruption.abort(new Interrupted("the test", 0));
    expect(await ended).toBe(0);
  });

  it("an export that is played ends as its reader or a signal says", async () => {
    const file = exportedAs("played.jsonl", rows);
    const left = startProcess(folder.path, "inspect", "--import", file, "--json");
    await once(left.stdout, "data");
    left.stdout.destroy();
    expect(await endOf(left)).toEqual({ code: 0, err: "" });
    for (const how of [
      ["--json", "--speed", "0.001", "--real"],
      ["--port", "0"],
    ]) {
      const played = startProcess(folder.path, "inspect", "--import", file, ...how);
      await once(played.stdout, "data");
      played.kill("SIGINT");
      expect(await endOf(played)).toEqual({ code: 130, err: "\nStopped. Nothing was changed.\n" });
    }
  });

  it.each([
    ["neither a workflow nor an export", [], 2, "name a workflow"],
    ["a workflow that there is not", ["wf_none"], 1, "T4_WORKFLOW_NOT_FOUND"],
    ["a page and messages at once", ["wf_none", "--html", "x.html", "--json"], 2, "name one of them"],
    ["a speed that is none", ["wf_none", "--speed", "0"], 2, "above 0"],
    ["a file that there is not", ["--import", "nowhere.jsonl"], 2, "is not a file"],
  ])("refuses %s", async (_what, args, code, words) => {
    const ran = await runHere("inspect", "--db", db, "--port", "0", ...args);
    expect([ran.code, ran.err.includes(words)]).toEqual([code, true]);
  });

  it.each([
    ["a byte altered", (text: string) => text.replace("mend the hinge", "mend the hinga")],
    ["a line cut short", (text: string) => text.slice(0, text.indexOf("\n") - 10)],
    ["a row left out", (text: string) => text.split("\n").toSpliced(1, 1).join("\n")],
    ["a line that is no row", (text: string) => `{"stream":5}\n${text}`],
    ["a line that is no JSON", (text: string) => `${text}null\n`],
  ])("refuses an export with %s, and prints nothing of it", async (_what, damage) => {
    const ran = await runHere("inspect", "--import", exportedAs("damaged.jsonl", damage(rows)), "--json");
    expect([ran.code, ran.out, ran.err.includes("T0_LEDGER_CORRUPT")]).toEqual([1, "", true]);
  });
});

describe("serve --inspect", () => {
  it("says where its inspector is, tells the tiers there, and closes it at the end", async () => {
    const served = await serveHere("t0ken", "--inspect", "0");
    const { inspector } = JSON.parse(served.out[0] as string) as { readonly inspector: string };
    const viewer = new WebSocket(inspector.replace("http", "ws"));
    const first = await new Promise<string>((resolve) => viewer.on("message", (data) => resolve(String(data))));
    expect(JSON.parse(first)).toMatchObject({ sessionId: "kernel", name: "kernel" });
    viewer.terminate();
    await served.stop();
    await expect(fetch(inspector)).rejects.toThrow();
  });
});
