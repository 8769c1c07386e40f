/** `dev`: from an empty folder to a first approval over its link, a change that takes effect, and a broken file. */
import { once } from "node:events";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { listModules } from "../../src/faces/cli/load-modules.ts";
import { renderLogLine } from "../../src/faces/cli/render-log.ts";
import { watchFolder } from "../../src/faces/cli/watch-folder.ts";
import { makeTempFolder, type TempFolder } from "../operators/temp-folder.ts";
import { runHere, startProcess } from "./command-line.ts";

type Event = Readonly<Record<string, string>>;

let folder: TempFolder;
beforeAll(() => {
  folder = makeTempFolder();
});
afterAll(() => folder[Symbol.dispose]());

/** Signs in by the link, and returns a function that asks the server as that browser does. */
async function signIn({ url = "", login = "" }: Event) {
  const body = new URL(login).searchParams;
  const entered = await fetch(`${url}/login`, { method: "POST", body, redirect: "manual", headers: { origin: url } });
  const [cookie = ""] = (entered.headers.get("set-cookie") ?? "").split(";");
  const ask = async <T>(path: string, sent?: object, headers: Readonly<Record<string, string>> = {}): Promise<T> => {
    const init = sent && { method: "POST", body: JSON.stringify(sent) };
    const given = { cookie, origin: url, "content-type": "application/json", ...headers };
    return (await (await fetch(url + path, { ...init, headers: given })).json()) as T;
  };
  const { csrf_token } = await ask<{ csrf_token: string }>("/v1/session");
  return <T>(path: string, sent?: object) => ask<T>(path, sent, { "x-csrf-token": csrf_token });
}

describe("dev", () => {
  it("leads from an empty folder to an approval, loads changes, and goes on where a file is broken", async () => {
    const child = startProcess(folder.path, "dev", "--json", "--port", "0");
    const ended = once(child, "exit");
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    const next = async (): Promise<Event> => JSON.parse((await lines.next()).value as string) as Event;
    try {
      const serving = await next();
      expect(serving).toMatchObject({ event: "serving", url: expect.stringMatching(/^http:/) });
      expect(new URL(serving["inspector"] ?? "").port).not.toBe(new URL(serving["url"] ?? "").port);
      const ask = await signIn(serving);
      const { gates } = await ask<{ gates: { workflow_id: string; payload_digest: string }[] }>("/v1/kernel/gates");
      const [{ workflow_id: workflow, payload_digest } = { workflow_id: "", payload_digest: "" }] = gates;
      const decision = { decision: "approve", payload: { payload_digest } };
      expect(await ask(`/v1/kernel/workflows/${workflow}/gate`, decision)).toMatchObject({ status: "resumed" });

      const source = join(folder.path, "refund.ts");
      const good = readFileSync(source, "utf8");
      writeFileSync(source, good.replace('version: "1.0"', 'version: "2.0"'));
      expect(await next()).toEqual({ event: "reloaded" });
      const { capabilities } = await ask<{ capabilities: { version: string; intent_type: string }[] }>(
        "/v1/kernel/capabilities",
      );
      expect(JSON.stringify(capabilities)).toContain('"2.0"');
      expect(await ask<{ events: unknown }>(`/v1/kernel/workflows/${workflow}`)).toMatchObject({ state: "completed" });

      writeFileSync(source, `${good}\nconst broken: number = ;`);
      const broken = await next();
      expect(broken).toMatchObject({ event: "broken", code: "T0_MODULE_INVALID", serves: true });
      expect(broken["detail"]).toMatch(/refund\.ts cannot be loaded: .*, line \d+$/);
      expect(await ask("/v1/session")).toMatchObject({ principal: { id: "local" } });
      writeFileSync(source, good.replace("Shop.Refund", "Shop.Payback"));
      expect(await next()).toEqual({ event: "reloaded" });
      child.kill("SIGINT");
      expect(await ended).toEqual([130, null]);
      await expect(fetch(serving["url"] ?? "")).rejects.toThrow();
    } finally {
      child.kill("SIGTERM");
      await ended;
    }
  }, 120_000);
});

describe("what dev is made of", () => {
  it("lists as modules what exports something, and no program, test or declaration", async () => {
    using made = makeTempFolder();
    await runHere("create", join(made.path, "mine"));
    writeFileSync(join(made.path, "mine/types.d.ts"), "export type A = 1;");
    expect(listModules(join(made.path, "mine")).map((path) => path.split("/").at(-1))).toEqual(["refund.ts"]);
    expect(existsSync(join(made.path, "mine/main.ts"))).toBe(true);
  });

  it("keeps a change of a source that comes while nobody waits, and none of a ledger", async () => {
    using made = makeTempFolder();
    const watch = watchFolder(made.path);
    const given = new AbortController();
    writeFileSync(join(made.path, "ledger.db"), "x");
    writeFileSync(join(made.path, "a.ts"), "export {};");
    await watch.changed(given.signal);
    const waiting = watch.changed(given.signal);
    given.abort(new Error("enough"));
    await expect(waiting).rejects.toThrow("enough");
    watch.close();
  });

  it("logs requests that change something and refusals in short, and no read that went well", () => {
    const seen = (method: string, status: number) =>
      renderLogLine(
        JSON.stringify({ level: "info", route: "/v1/x/{id}", method, status, ms: 3, message: "a request" }),
      );
    expect([seen("GET", 200), seen("GET", 404), seen("POST", 202)]).toEqual([
      null,
      "GET /v1/x/{id} 404, 3 ms",
      "POST /v1/x/{id} 202, 3 ms",
    ]);
    const gate = {
      level: "warn",
      time: "2026-01-01T10:00:00.000Z",
      message: "a step failed",
      code: "T4_X",
      trace_id: "t",
    };
    expect(renderLogLine(JSON.stringify(gate))).toMatch(/^\d\d:\d\d:\d\d warn: a step failed {2}T4_X$/);
    expect(renderLogLine("no JSON\u001b[31m")).toBe("no JSON‹U+001B ESCAPE›[31m");
  });
});
