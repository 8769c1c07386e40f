/**
 * The official clients of both eras drive a real filesystem server through `countersign guard`, over stdio and HTTP,
 * and its gates are decided by other processes: one by one, several at once, and at a screen.
 */
import { readFileSync, realpathSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import type { Gate } from "../../src/index.ts";
import { makePerson, runAt, runProcess } from "../cli/command-line.ts";
import { makeTempFolder } from "../operators/temp-folder.ts";
import { call, refusalOf, textOf } from "./guard-fixture.ts";
import { type Face, type Library, type StartedGuard, startGuard } from "./start-guard.ts";

const filesystem = join(
  import.meta.dirname,
  "../../node_modules/@modelcontextprotocol/server-filesystem/dist/index.js",
);

async function open(face: Face, library: Library) {
  const made = makeTempFolder();
  onTestFinished(() => made[Symbol.dispose]());
  const folder = realpathSync(made.path);
  writeFileSync(join(folder, "a.txt"), "hello");
  const guard = await startGuard({ folder, face, library, wait: 60, server: [filesystem, folder] });
  onTestFinished(guard.stop);
  const write = (name: string) => call(guard.client, "write_file", { path: join(folder, name), content: name });
  return { folder, guard, write, read: (name: string) => readFileSync(join(folder, name), "utf8") };
}

async function waitForGates({ gates }: StartedGuard, count: number): Promise<readonly Gate[]> {
  await expect.poll(gates, { timeout: 20_000 }).toHaveLength(count);
  return gates();
}

const clients: readonly (readonly [Library, Face])[] = [
  ["sdk", "stdio"],
  ["sdk", "http"],
  ["client", "stdio"],
  ["client", "http"],
];

it.each(clients)(
  "serves a client of the package `%s` over %s: reads, and writes what a person approved",
  async (library, face) => {
    const { folder, guard, write, read } = await open(face, library);
    const { tools } = await guard.client.listTools();
    expect(tools.map(({ name }) => name)).toEqual(expect.arrayContaining(["read_text_file", "write_file"]));
    const read_text_file = await call(guard.client, "read_text_file", { path: join(folder, "a.txt") });
    expect(textOf(read_text_file)).toBe("hello");
    const writing = write("b.txt");
    const [gate = expect.fail()] = await waitForGates(guard, 1);
    expect(() => read("b.txt")).toThrow();
    const approved = await runProcess(folder, "approve", gate.workflow_id, "--agents", "--db", "guard.db");
    expect([approved.code, approved.err]).toEqual([0, ""]);
    expect(textOf(await writing)).toContain("Successfully wrote");
    expect(read("b.txt")).toBe("b.txt");
    const again = write("b.txt");
    const [another = expect.fail()] = await waitForGates(guard, 1);
    expect(another.workflow_id).not.toBe(gate.workflow_id);
    await guard.reject(another);
    expect(refusalOf(await again)).toMatchObject({ error: { code: "T5_HUMAN_DENIED" } });
  },
);

it("carries out what `decide` decides at once in another process", async () => {
  const { folder, guard, write, read } = await open("stdio", "client");
  const calls = ["c.txt", "d.txt"].map((name) => write(name).then((answer) => ({ name, answer })));
  const gates = await waitForGates(guard, 2);
  const decisions = gates.map(({ workflow_id, gate_id, payload_digest }, n) => {
    const decision = n === 0 ? "approve" : "reject";
    return { workflow_id, gate_id, decision, payload: { payload_digest } };
  });
  const decided = await runProcess(folder, "decide", JSON.stringify(decisions), "--agents", "--db", "guard.db");
  expect(decided).toMatchObject({ code: 0, err: "" });
  const answers = await Promise.all(calls);
  const [written = expect.fail()] = answers.filter(({ answer }) => answer.isError !== true);
  const [rejected = expect.fail()] = answers.filter(({ answer }) => answer.isError === true);
  expect(read(written.name)).toBe(written.name);
  expect(refusalOf(rejected.answer)).toMatchObject({ error: { code: "T5_HUMAN_DENIED" } });
  expect(() => read(rejected.name)).toThrow();
});

it("carries out what a person decides at the screen of `review` beside the guard", async () => {
  const { folder, guard, write, read } = await open("stdio", "client");
  const first = write("c.txt");
  await waitForGates(guard, 1);
  const second = write("d.txt");
  await waitForGates(guard, 2);
  const person = makePerson(["a", "y", "r", "y"], () => "not today");
  const ran = await runAt(person.terminal, "review", "--agents", "--db", join(folder, "guard.db"));
  expect([ran.code, ran.err]).toEqual([0, ""]);
  expect(textOf(await first)).toContain("Successfully wrote");
  expect(refusalOf(await second)).toMatchObject({ error: { code: "T5_HUMAN_DENIED" } });
  expect(read("c.txt")).toBe("c.txt");
  expect(() => read("d.txt")).toThrow();
});
