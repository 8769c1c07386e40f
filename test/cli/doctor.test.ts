/** `doctor`: what a deployment asks before it replaces what runs, and the ways out that it names. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { readLines, runHere } from "./command-line.ts";
import { keepAs, makeWorkplace, type Workplace } from "./workplace.ts";

let place: Workplace;
let id = "";
const module = (version: string): string => {
  const from = (path: string): string => JSON.stringify(new URL(path, import.meta.url).href);
  return keepAs(
    place.folder,
    `mail-${version}.mjs`,
    `import { defineCapability, defineOperator } from ${from("../../src/index.ts")};
     import { z } from ${JSON.stringify(import.meta.resolve("zod"))};
     const input = z.object({ text: z.string() });
     const version = "${version}";
     const send = defineOperator({ name: "Mail.Send", version, input, effect: "final_write", run: () => 1 });
     const send_it = { step_id: "send", name: "Send", operator: "Mail.Send", params: { text: "hello" } };
     const plan = { reasoning: "one note", steps: [send_it] };
     export const mail = defineCapability({ intentType: "Mail.Note", version, input, operators: [send], plan });`,
  );
};
const run = (version: string, ...words: readonly string[]) =>
  runHere(...words, "--db", place.db, "--capabilities", module(version));

beforeAll(async () => {
  place = makeWorkplace();
  const begun = await run("1.0", "run", "Mail.Note", "--input", '{"text":"hello"}', "--wait", "--json");
  id = (JSON.parse(begun.out) as { readonly workflow_id: string }).workflow_id;
});
afterAll(() => place.folder[Symbol.dispose]());

describe("doctor", () => {
  it("is content, with exit 0, where all that has not ended can run", async () => {
    const { code, out, err } = await run("1.0", "doctor");
    expect([code, err]).toEqual([0, ""]);
    expect(out).toMatch(/^all that has not ended can run \(1\)\n/);
  });

  it("names what people would see badly, with what its author can do, and ends with exit 0 all the same", async () => {
    const { code, out } = await run("1.0", "doctor");
    const lines = out.trimEnd().split("\n").slice(1);
    expect([code, ...lines]).toEqual([
      0,
      "",
      "what people would see badly:",
      "  capability Mail.Note@1.0: it has no present, and no member of its input has a title: its runs are named by " +
        "bare values. Give the capability present with a title, or the members of its input titles.",
      "  operator Mail.Send@1.0: it has no present, and no member of its input has a title: its gates show bare " +
        "members. Give the operator present, or the members of its input titles.",
    ]);
  });

  it("ends with exit 1 where something cannot run: says what, and the commands that lead out", async () => {
    const { code, out, err } = await run("2.0", "doctor");
    expect(code).toBe(1);
    expect(out).toContain(`${id}  Mail.Note@1.0  waiting_for_user`);
    expect(out).toContain("cannot run: Mail.Send@1.0 is not registered (registered: 2.0)");
    expect(out).toMatch(new RegExp(`migrate: begin it again as Mail.Note@2.0; .*: .* retry ${id} --mode migrate`));
    expect(out).toContain(`cancel ${id}`);
    expect(err).toContain("T4_WORKFLOW_STRANDED");
  });

  it("tells the same as JSON Lines, and the report last", async () => {
    const { code, out, err } = await run("2.0", "doctor", "--json");
    const [finding, report, ...more] = readLines(out);
    expect([code, more]).toEqual([1, []]);
    expect(finding).toMatchObject({ workflow_id: id, obstacles: [{ what: "package" }, { what: "operator" }] });
    expect(report).toMatchObject({ kind: "report", ok: false, workflows: 1, stranded: 1 });
    expect(JSON.parse(err)).toMatchObject({ status: 409, type: expect.stringContaining("T4_WORKFLOW_STRANDED") });
  });

  it("looks at one workflow, or at those of one intent; what is not there is refused", async () => {
    expect((await run("2.0", "doctor", "--intent", "Other.Thing")).code).toBe(0);
    expect((await run("2.0", "doctor", id)).code).toBe(1);
    expect((await run("2.0", "doctor", "wf_nothing")).err).toContain("T4_WORKFLOW_NOT_FOUND");
  });

  it("is content again once what it named was done", async () => {
    const { code, out } = await run("2.0", "retry", id, "--mode", "migrate", "--to", "2.0", "--json");
    expect([code, JSON.parse(out)]).toMatchObject([0, { answer: { status: "restarted" } }]);
    expect((await run("2.0", "doctor")).code).toBe(0);
    expect((await run("2.0", "show", id)).out).toContain("cancelled");
  });
});
