/**
 * Many calls at once through `countersign guard`, from several sessions over HTTP or from one client over stdio.
 * Owns: the guard's process, its clients, and the measures of its memory. Never: asserts anything.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { makeTempFolder } from "../operators/temp-folder.ts";
import { call, textOf } from "./guard-fixture.ts";
import { type Face, hostileServer, startGuard } from "./start-guard.ts";

export interface ManyCalls {
  readonly face: Face;
  readonly calls: number;
  /** The number of sessions over HTTP. */
  readonly sessions: number;
}

const rules = {
  version: "1",
  rules: [
    {
      name: "acts",
      stages: ["action"],
      lifts: "default.final_write",
      when: { operators: ["Guard.Write"] },
      decision: "ALLOW",
      reason: "a test",
    },
  ],
};

/** Makes the calls; call `n` goes to the session `n % sessions`. */
export async function callMany({ face, calls, sessions }: ManyCalls) {
  using made = makeTempFolder();
  const folder = made.path;
  writeFileSync(join(folder, "rules.json"), JSON.stringify(rules));
  const { server, called } = hostileServer(folder, { tools: [{ name: "act", inputSchema: { type: "object" } }] });
  const options = ["--policies", "rules.json"];
  const guard = await startGuard({ folder, face, wait: 60, server, options });
  try {
    const count = face === "http" ? sessions : 1;
    const clients = [guard.client, ...(await Promise.all(Array.from({ length: count - 1 }, () => guard.connect())))];
    const began = performance.now();
    const answers = await Promise.all(
      Array.from({ length: calls }, async (_, n) => {
        const client = clients[n % clients.length] ?? guard.client;
        return textOf(await call(client, "act", { n }));
      }),
    );
    const elapsedMs = performance.now() - began;
    const open = (await guard.gates()).length;
    const { peakMb, residentMb } = memoryOf(guard.pid);
    for (const client of clients.slice(1)) await client.close();
    return { answers, called: called(), open, elapsedMs, peakMb, residentMb };
  } finally {
    await guard.stop();
  }
}

/** Returns the memory of a process as Linux counts it, in MB; 0 elsewhere. */
function memoryOf(pid: number): { readonly peakMb: number; readonly residentMb: number } {
  const status = process.platform === "linux" ? readFileSync(`/proc/${pid}/status`, "utf8") : "";
  const of = (name: string): number =>
    Math.round(Number(new RegExp(`${name}:\\s*(\\d+)`).exec(status)?.[1] ?? 0) / 1024);
  return { peakMb: of("VmHWM"), residentMb: of("VmRSS") };
}
