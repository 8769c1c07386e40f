/**
 * Only operators reach the outside: in a process where every way out is a trap, nothing of the kernel's own springs
 * one.
 */
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, it } from "vitest";
import type { Sprung } from "./traps.ts";

const folder = mkdtempSync(join(tmpdir(), "countersign-outside-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const scriptAt = (name: string): string => fileURLToPath(new URL(name, import.meta.url));

interface Told {
  readonly state: string;
  readonly sprung: readonly Sprung[];
}

const runScript = (name: string, ...args: readonly string[]): unknown =>
  JSON.parse(execFileSync(process.execPath, [scriptAt(name), ...args], { encoding: "utf8", timeout: 60_000 }));
const run = (...args: readonly string[]): Told => runScript("./trapped-kernel.ts", ...args) as Told;

describe("a kernel whose ways out are trapped", () => {
  it.each(["in memory", "in a file"])(
    "[INV-13] sends, writes and starts nothing itself, with its ledger %s; its operators spring every trap",
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
  );

  it("[INV-13] sends, writes and starts nothing when a workflow fails, is denied, rejected or cancelled", () => {
    const { ended, sprung } = runScript("./trapped-failures.ts") as { readonly ended: object } & Pick<Told, "sprung">;
    expect(ended).toEqual({
      "throws every time": "failed T4_OPERATOR_BUG",
      "fails with intent": "failed T4_DEPENDENCY_FAILED",
      "never answers": "failed T4_TOOL_TIMEOUT",
      "is denied by policy": "failed T5_POLICY_DENIED",
      "has no such plan": "failed T3_PLANNER_FAILED",
      "is rejected by a person": "cancelled",
      "is cancelled": "cancelled",
      "fails again on retry": "failed T4_OPERATOR_BUG",
    });
    expect(sprung).toEqual([]);
  });
});
