/** What of the host for Restate shows without a server: options, who may call it, how it stops. */
import { once } from "node:events";
import { connect } from "node:http2";
import { describe, expect, it } from "vitest";
import { type RestateHostOptions, restateHost } from "../../src/hosts/restate/index.ts";
import { createTestKernel } from "../../src/testing/index.ts";
import { freePort } from "../free-port.ts";
import { createWorld, job, ledgerPaths, openProcess, step, work } from "../recovery/shared-file.ts";

const freshPath = ledgerPaths();
const nobody = "http://127.0.0.1:1";

/** The status of a request to the endpoint, over HTTP/2 without TLS. */
async function ask(port: number, path: string, headers: Readonly<Record<string, string>> = {}): Promise<number> {
  const session = connect(`http://127.0.0.1:${port}`);
  try {
    const stream = session.request({
      ":path": path,
      accept: "application/vnd.restate.endpointmanifest.v4+json",
      ...headers,
    });
    const [answered] = await once(stream, "response");
    stream.destroy();
    return Number((answered as Record<string, unknown>)[":status"]);
  } finally {
    session.destroy();
  }
}

const open = (options: Partial<RestateHostOptions> = {}) =>
  createTestKernel({ host: restateHost({ ingress: nobody, ...options }) });

describe("restateHost", () => {
  it.each([
    ["an address that is none", { ingress: "localhost:8080" }, "ingress"],
    ["a key that nobody knows", { ingress: nobody, serv: { port: 1 } }, "serve"],
    [
      "an identity key of another kind",
      { ingress: nobody, serve: { port: 9080, identityKeys: ["secret"] } },
      "identityKeys",
    ],
    ["a port that is none", { ingress: nobody, serve: { port: 70_000 } }, "port"],
    ["an object's name that no path can carry", { ingress: nobody, service: "a/b" }, "service"],
  ])("refuses %s, and names it", (_, options, named) => {
    const make = () => restateHost(options as RestateHostOptions);
    expect(make).toThrow("T0_VALIDATION_SCHEMA_MISMATCH");
    expect(make).toThrow(named);
  });

  it("says of a port that is taken that it is, and leaves nothing open", async () => {
    const port = await freePort();
    await using _first = await open({ serve: { port } });
    await expect(open({ serve: { port } })).rejects.toMatchObject({ error: { code: "T0_HTTP_ADDRESS_UNAVAILABLE" } });
  });

  it("serves drives to anybody on the loopback address, and with keys to who signs with them alone", async () => {
    const [plain, keyed] = [await freePort(), await freePort()];
    const identityKeys = ["publickeyv1_w7YHemBctH5Ck2nQRQ47iBBqhNHy4FV7t2Usbye2A6f"];
    await using _plain = await open({ serve: { port: plain } });
    await using _keyed = await open({ serve: { port: keyed, identityKeys } });
    expect(await ask(plain, "/discover")).toBe(200);
    expect(await ask(keyed, "/discover")).toBe(401);
    expect(await ask(keyed, "/discover", { "x-restate-signature-scheme": "v1", "x-restate-jwt-v1": "a.b.c" })).toBe(
      401,
    );
  });

  it("tells once that Restate is away, with its code; what is accepted meanwhile waits in the ledger", async () => {
    const path = freshPath();
    const capabilities = [job([step("s1", "Test.Work")], [work(createWorld(), "Test.Work")])];
    const host = restateHost({ ingress: nobody });
    const first = await openProcess(path, { capabilities, host });
    const ids = [await first.submit("Test.Job"), await first.submit("Test.Job")];
    await first.kernel.stop();
    const [told, ...more] = first.logged.filter(({ level }) => level === "error");
    expect(more).toEqual([]);
    expect(told?.detail).toMatchObject({ error: { code: "T4_DISPATCHER_UNAVAILABLE" } });
    await using second = await openProcess(path, { capabilities });
    for (const id of ids) expect(await second.rest(id)).toMatchObject({ state: "completed" });
  });
});
