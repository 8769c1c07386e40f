/** Optional packages: the error names the command that installs them, and hides no other error. */
import { describe, expect, it } from "vitest";
import { KernelErrorException } from "../../src/contract/kernel-error.ts";
import { loadAllPeers, loadPeers } from "../../src/protocol/load-peers.ts";

const notFound = (name: string) => async () => {
  throw new Error(`Cannot find package '${name}' imported from /app/node_modules/countersign/dist/src/a.js`);
};
const peers = { user: "countersign/a", packages: ["left@1", "@scope/right@2"] };
const errorOf = async (work: Promise<unknown>) => {
  const thrown = await work.then(
    () => null,
    (error: unknown) => error,
  );
  return thrown instanceof KernelErrorException ? thrown.error : thrown;
};

describe("loadPeers", () => {
  it("returns what was imported", async () => {
    expect(await loadPeers(peers, async () => 7)).toBe(7);
  });

  it.each(["left", "@scope/right", "@scope/right/deep"])(
    "names the command that installs all packages of its user if %s is missing",
    async (name) => {
      expect(await errorOf(loadPeers(peers, notFound(name)))).toMatchObject({
        code: "T0_PACKAGE_MISSING",
        message: expect.stringMatching(/^countersign\/a needs packages .*: npm install left@1 @scope\/right@2$/),
        detail: { packages: ["left@1", "@scope/right@2"] },
      });
    },
  );

  it.each(["leftover", "@scope/other"])(
    "leaves the error as it is if another package, %s, is missing",
    async (name) => {
      expect(await errorOf(loadPeers(peers, notFound(name)))).toMatchObject({ message: expect.stringContaining(name) });
      expect(await errorOf(loadPeers(peers, notFound(name)))).not.toHaveProperty("code");
    },
  );

  it("leaves an error of a package that is installed as it is", async () => {
    const broken = new TypeError("left has a bug");
    expect(await errorOf(loadPeers(peers, () => Promise.reject(broken)))).toBe(broken);
  });
});

describe("loadAllPeers", () => {
  const other = { user: "countersign/b", packages: ["third@3", "left@1"] };

  it("names the packages of all imports that failed, each once", async () => {
    const loads = [loadPeers(peers, notFound("left")), Promise.resolve(1), loadPeers(other, notFound("third"))];
    expect(await errorOf(loadAllPeers("serving", loads))).toMatchObject({
      message: expect.stringMatching(/^serving needs .*: npm install left@1 @scope\/right@2 third@3$/),
    });
  });

  it("throws any other error in place of the missing packages", async () => {
    const broken = new TypeError("left has a bug");
    const loads = [loadPeers(peers, notFound("left")), Promise.reject(broken)];
    expect(await errorOf(loadAllPeers("serving", loads))).toBe(broken);
  });
});
