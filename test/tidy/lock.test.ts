/** The lock: every package from the registry is held to its bytes, and none is held to a host. */
import { describe, expect, it } from "vitest";
import { readSource } from "./source-files.ts";

interface LockedPackage {
  readonly integrity?: string;
  readonly resolved?: string;
  /** A folder of this repository. */
  readonly link?: boolean;
}

const lock = JSON.parse(readSource("package-lock.json").text) as {
  readonly packages: Readonly<Record<string, LockedPackage>>;
};
const fromRegistry = Object.entries(lock.packages).filter(([path, { link }]) => path !== "" && link !== true);

const publicRegistry = "https://registry.npmjs.org/";

describe("the lock", () => {
  it("[CARD-01] names the digest of every package, so that no registry and no proxy can hand out another one", () => {
    const without = fromRegistry.filter(([, { integrity }]) => !/^sha512-[\w+/]{86}==$/.test(integrity ?? ""));
    expect(without.map(([path]) => path)).toEqual([]);
    expect(fromRegistry.length).toBeGreaterThan(100);
  });

  it("[CARD-01] names no host but the public registry, if any", () => {
    const elsewhere = fromRegistry.filter(([, { resolved = publicRegistry }]) => !resolved.startsWith(publicRegistry));
    expect(elsewhere.map(([path, { resolved }]) => `${path} from ${resolved}`)).toEqual([]);
  });
});
