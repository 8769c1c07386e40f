/** The reference: what the entries export has a docstring, and what they name can be named. */
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { root } from "../tidy/source-files.ts";
import type { ReferenceCheck } from "./make-reference.ts";

/** Inner types that public ones name and no entry exports: to become fewer. */
const mostUnexported = 80;

describe("the reference of the entries", () => {
  it("has a sentence for each name, option and member, and names few types that cannot be imported", () => {
    const maker = join(root, "test/guide/make-reference.ts");
    const told = execFileSync(process.execPath, [maker, "--check"], { encoding: "utf8", maxBuffer: 10_000_000 });
    const { exported, undocumented, members, unexported } = JSON.parse(told) as ReferenceCheck;
    expect(exported).toBeGreaterThan(500);
    expect(undocumented).toEqual([]);
    expect(members).toEqual([]);
    expect(unexported.length, unexported.join(" ")).toBeLessThanOrEqual(mostUnexported);
  });
});
