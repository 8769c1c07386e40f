/** Only operators reach the outside: in a process where every way out is a trap, nothing of the kernel's own springs one. */
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, it } from "vitest";

const folder = mkdtempSync(join(tmpdir(), "countersign-outside-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const script = fileURLToPath(new URL("./trapped-kernel.ts", import.meta.url));

interface Told {
  readonly state: string;
  readonly sprung: readonly { readonly way: string; readonly by: "operator" | "kernel" }[];
}

const run = (...args: readonly string[]): Told =>
  JSON.parse(execFileSync(process.execPath, [script, ...args], { encoding: "utf8", timeout: 60_000 })) as Told;

describe("a kernel whose ways out are trapped", () => {
  it.each(["in memory", "in a file"])(
    "[INV-13] sends, writes and starts nothing itself, with its ledger %s; its operators spring every trap they reach for",
    (where) => {
      const { state, sprung } = run(...(where === "in a file" ? [join(folder, "ledger.db")] : []));
      expect(state).toBe("completed");
      // The store looks at its own file before it opens it and before each commit; that is all.
      const own = where === "in a file" ? ["fs.statSync"] : [];
      const kernelWays = new Set(sprung.filter((s) => s.by === "kernel").map((s) => s.way));
      expect([...kernelWays]).toEqual(own);
      const ways = sprung.filter((s) => s.by === "operator").map((s) => s.way);
      expect(ways.sort()).toEqual([
        "child_process.spawn",
        "fetch",
        "fs.promises.writeFile",
        "fs.writeFileSync",
        "http.request",
        "net.connect",
      ]);
    },
    90_000,
  );
});
