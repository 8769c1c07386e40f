/** `serve --notify`: notifiers out of a module, and the addresses where their receivers call back. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { createHttpApp } from "../../src/faces/http/index.ts";
import { runHere } from "../cli/command-line.ts";
import { serveHere } from "../cli/serve-here.ts";
import { makeTempFolder, refusalOf } from "../fixtures.ts";
import { openEdge } from "../http/edge-fixture.ts";
import { receiveHttp, receiveMail } from "./receivers.ts";

const entry = (name: string) => JSON.stringify(fileURLToPath(new URL(`../../src/${name}/index.ts`, import.meta.url)));

describe("countersign serve --notify", () => {
  it("tells by what the module exports, and answers what is called back", async () => {
    using folder = makeTempFolder();
    await using receiver = await receiveHttp();
    const path = join(folder.path, "tell.ts");
    writeFileSync(
      path,
      `import { slackNotifier, webhookNotifier } from ${entry("observers/notifiers")};
       const url = "http://127.0.0.1:${receiver.port}/";
       const options = { url, consoleUrl: "http://127.0.0.1:8787", allowPrivate: true };
       export const told = [
         webhookNotifier({ ...options, secret: "whsec_${Buffer.alloc(32).toString("base64")}" }),
         slackNotifier({ ...options, signingSecret: "0123456789abcdef", principalOf: () => null }),
       ];`,
    );
    const { url, stop } = await serveHere("program", "--notify", path);
    const body = JSON.stringify({
      tenant_id: 1,
      principal: { type: "user", id: "local", role: "user" },
      intent_hint: {
        intent_type: "Repo.ReleaseNotes.Draft",
        inputs: { repo: fileURLToPath(new URL("../..", import.meta.url)) },
      },
    });
    const headers = { authorization: "Bearer program", "content-type": "application/json" };
    expect((await fetch(`${url}/v1/kernel/submit`, { method: "POST", headers, body })).status).toBe(202);
    const told = await receiver.inbox.count(2);
    expect(told.map(({ headers: sent }) => "webhook-id" in sent).sort()).toEqual([false, true]);
    const called = (path: string) => fetch(`${url}${path}`, { method: "POST", body: "payload={}" });
    expect([(await called("/callbacks/slack")).status, (await called("/callbacks/webhook")).status]).toEqual([
      401, 401,
    ]);
    await stop();
  });

  it("gives a digest that the module exports the kernel whose gates it lists", async () => {
    using folder = makeTempFolder();
    await using server = await receiveMail();
    await using opened = await receiveHttp();
    const path = join(folder.path, "digest.ts");
    writeFileSync(
      path,
      `import { mailDigest, webhookNotifier } from ${entry("observers/notifiers")};
       export const digest = mailDigest({
         smtp: { host: "127.0.0.1", port: ${server.port} },
         from: "gates@countersign.test",
         consoleUrl: "http://127.0.0.1:8787",
         roles: { admin: ["boss@example.test"] },
       });
       export const { capability, policies } = digest;
       export const hook = webhookNotifier({
         url: "http://127.0.0.1:${opened.port}/",
         consoleUrl: "http://127.0.0.1:8787",
         secret: "whsec_${Buffer.alloc(32).toString("base64")}",
         allowPrivate: true,
       });`,
    );
    const { url, stop } = await serveHere("program", "--notify", path, "--capabilities", path);
    const submit = (intent_hint: object) =>
      fetch(`${url}/v1/kernel/submit`, {
        method: "POST",
        headers: { authorization: "Bearer program", "content-type": "application/json" },
        body: JSON.stringify({ tenant_id: 1, principal: { type: "user", id: "local", role: "user" }, intent_hint }),
      });
    const repo = fileURLToPath(new URL("../..", import.meta.url));
    await submit({ intent_type: "Repo.ReleaseNotes.Draft", inputs: { repo } });
    await opened.inbox.count(1);
    expect((await submit({ intent_type: "Desk.Digest" })).status).toBe(202);
    const [got] = await server.inbox.count(1);
    expect([got?.to, got?.mail.subject]).toEqual([["boss@example.test"], "1 gate waits for a decision"]);
    await stop();
  });

  it("of a module that exports none, or that is not there, is wrong usage", async () => {
    using folder = makeTempFolder();
    const path = join(folder.path, "none.ts");
    writeFileSync(path, "export const nothing = 1;");
    const ran = await runHere("serve", "--notify", path, "--db", join(folder.path, "l.db"));
    expect([ran.code, ran.err]).toEqual([2, expect.stringContaining("exports no notifier")]);
    expect((await runHere("serve", "--notify", "./nowhere.ts", "--db", join(folder.path, "l.db"))).code).toBe(2);
  });
});

describe("callbacks of an app", () => {
  it("answer without a known caller, for any method; strangers that fail too often wait", async () => {
    const limits = { maxFailedCallsPerSecond: 1, maxFailedCallBurst: 3 };
    const seen: string[] = [];
    const callback = async ({ method }: Request) => {
      seen.push(method);
      return new Response(null, { status: method === "PUT" ? 204 : 401 });
    };
    await using edge = await openEdge({}, { callbacks: { "/callbacks/x": callback }, limits });
    const call = async (method: string) => (await edge.fetch("/callbacks/x", { as: null, method })).status;
    expect([await call("PUT"), await call("POST"), await call("GET"), await call("POST")]).toEqual([
      204, 401, 401, 401,
    ]);
    expect([await call("POST"), seen.length]).toEqual([429, 4]);
    await edge.t.clock.advance(1_000);
    expect(await call("PUT")).toBe(204);
  });

  it("that fail are a problem that tells nothing; an address of the API is none of theirs", async () => {
    const broken = async () => Promise.reject(new Error("a secret"));
    await using edge = await openEdge({}, { callbacks: { "/callbacks/x": broken } });
    const told = await edge.fetch("/callbacks/x", { as: null, method: "POST" });
    expect([told.status, await told.text()]).toEqual([500, expect.not.stringContaining("secret")]);
    for (const options of [
      { callbacks: { "/rpc": broken } },
      { callbacks: { "/x": broken }, mounts: { "/x": broken } },
      { callback: {} },
    ]) {
      const make = async () => createHttpApp(edge.t.kernel, { sessions: {}, ...options } as never);
      expect((await refusalOf(make())).code).toBe("T0_VALIDATION_SCHEMA_MISMATCH");
    }
  });
});
