/** A kernel is killed while it tells, and started again: real processes, a real web server, a real mail server. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { makeTempFolder } from "../fixtures.ts";
import { type HttpPosted, receiveHttp, receiveMail } from "./receivers.ts";

const script = fileURLToPath(new URL("./kernel-process.ts", import.meta.url));

async function kill(child: ChildProcess): Promise<void> {
  const ended = once(child, "exit");
  child.kill("SIGKILL");
  await ended;
}

const idOf = ({ headers }: HttpPosted) => headers["webhook-id"];
const typeOf = ({ body }: HttpPosted) => (JSON.parse(body) as { type: string }).type;

describe("a kernel that is killed", () => {
  it("between and while it tells, tells everything, in order; what was told twice has one id", async () => {
    using folder = makeTempFolder();
    let isHanging = true;
    await using hooks = await receiveHttp((response) => {
      if (!isHanging) response.writeHead(204).end();
    });
    await using mails = await receiveMail();
    const start = (approve?: string) => {
      const args = [join(folder.path, "l.db"), String(hooks.port), String(mails.port)];
      return spawn(process.execPath, [script, ...args, ...(approve === undefined ? [] : [approve])], {
        stdio: ["pipe", "pipe", "inherit"],
      });
    };
    const first = start();
    const [workflow] = (await once(createInterface(first.stdout), "line")) as [string];
    // The hook was sent and is not answered: it is under way when the process dies.
    await Promise.all([hooks.inbox.count(1), mails.inbox.count(1)]);
    await kill(first);
    isHanging = false;
    const second = start(workflow);
    await once(createInterface(second.stdout), "line");
    await hooks.inbox.until((posted) => typeOf(posted) === "gate.decided");
    const decided = idOf(hooks.inbox.items.find((posted) => typeOf(posted) === "gate.decided") as HttpPosted);
    await mails.inbox.until(({ mail }) => mail.messageId === `<${decided}@countersign.test>`);
    await kill(second);
    const { items } = hooks.inbox;
    expect(items.length).toBeGreaterThan(2);
    const hooked = new Map(items.map((posted) => [idOf(posted), typeOf(posted)]));
    expect([...hooked.values()]).toEqual(["gate.opened", "gate.decided"]);
    const types = items.map(typeOf);
    expect(types.lastIndexOf("gate.opened")).toBeLessThan(types.indexOf("gate.decided"));
    // The first mail may have been taken just before the process died: it is then told again under its id, and says how
    // the gate was decided by then.
    const told = mails.inbox.items.map(({ mail: { messageId, subject } }) => [messageId, subject]);
    const [opened] = [...hooked.keys()];
    expect(new Set(told.map(([id]) => id))).toEqual(
      new Set([`<${opened}@countersign.test>`, `<${decided}@countersign.test>`]),
    );
    expect(told[0]).toEqual([`<${opened}@countersign.test>`, "Decision wanted: s1"]);
    expect(told.at(-1)).toEqual([`<${decided}@countersign.test>`, "Approved: s1"]);
  });
});
