/**
 * Properties are repeatable: their seed and number of runs come from the environment, and a failure says how to see it
 * again.
 */
import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { sourcesIn } from "../tidy/source-files.ts";

const runsModule = fileURLToPath(new URL("./property-runs.ts", import.meta.url));

/** What the module says in a process with this environment. */
function saidUnder(environment: Readonly<Record<string, string>>): unknown {
  const load = `import { propertySeed, runs } from ${JSON.stringify(runsModule)}`;
  const script = `${load}; console.log(JSON.stringify([propertySeed ?? null, runs(7)]))`;
  const { PATH = "" } = process.env;
  const args = ["--input-type=module", "-e", script];
  return JSON.parse(
    execFileSync(process.execPath, args, { encoding: "utf8", stdio: "pipe", env: { PATH, ...environment } }),
  );
}

describe("a property", () => {
  it.each([
    [{}, [null, 7]],
    [{ FC_SEED: "-5", FC_RUNS: "2000" }, [-5, 2000]],
    [{ CI: "true" }, [20_260_101, 7]],
    [{ CI: "true", FC_SEED: "3" }, [3, 7]],
  ])("has under %j the seed and runs %j", (environment, told) => {
    expect(saidUnder(environment)).toEqual(told);
  });

  it.each<Record<string, string>>([{ FC_SEED: "soon" }, { FC_RUNS: "0" }, { FC_RUNS: "1.5" }])(
    "is not tried under %j",
    (environment) => {
      expect(() => saidUnder(environment)).toThrow(/is no whole number/);
    },
  );

  it("that fails is shrunk, and tells its seed, this file and this test", async () => {
    const failing = fc.asyncProperty(fc.nat(), async (n) => {
      expect(n).toBeLessThan(10);
    });
    const thrown = (await Promise.resolve(fc.assert(failing, { seed: 42, numRuns: 100 })).catch(
      (error: unknown) => error,
    )) as Error;
    expect(thrown.message).toContain("Counterexample: [10]");
    expect(thrown.message).toMatch(/Repeat: FC_SEED=42 npx vitest run \S*repeat\.test\.ts -t ".*that fails is shrunk/);
    expect(() => fc.assert(fc.property(fc.nat(), () => false))).toThrow(/Repeat: FC_SEED=/);
  });

  it("has no seed of its own, and shrinks what fails", () => {
    const own = sourcesIn("test")
      .filter(
        ({ path, text }) =>
          path.endsWith(".test.ts") && path !== "test/properties/repeat.test.ts" && text.includes("fc."),
      )
      .filter(({ text }) => /endOnFailure|\{ (numRuns: [^}]*, )?seed: \d+(, numRuns: [^}]*)? \},?\s*\)/.test(text));
    expect(own.map(({ path }) => path)).toEqual([]);
  });
});
