/**
 * What people do in the console, by keyboard alone, in a real browser over the real API. The ledger says what came of
 * it.
 */
import type { Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import { sqliteLedger } from "../../src/ledger/sqlite/index.ts";
import { createVirtualClock } from "../../src/testing/index.ts";
import { eventsOf } from "../fixtures.ts";
import { intent, publishing } from "../gates/story.ts";
import { makeTempFolder } from "../operators/temp-folder.ts";
import { admin, ann, bo, hashOf, openSite, type Person, type Site } from "./site.ts";

type Gated = Parameters<typeof publishing>[0];

const openStory = (gated: Gated = {}, http = {}) =>
  openSite({ kernel: { capabilities: [publishing(gated).capability] }, http });

async function begin({ kernel }: Site, who: Person = ann): Promise<string> {
  const { workflow_id } = await kernel.submit({ ...who, intent_hint: { intent_type: intent } });
  await kernel.settled(workflow_id);
  return workflow_id;
}

/** Goes on by Tab until this has the focus, as a person without a mouse does. */
async function tabTo(page: Page, role: "button" | "link" | "textbox" | "slider", name: string | RegExp): Promise<void> {
  const wanted = page.getByRole(role, { name, ...(typeof name === "string" && { exact: true }) }).first();
  await wanted.waitFor();
  for (let presses = 0; presses < 60; presses += 1) {
    if (await wanted.evaluate((element) => element === element.ownerDocument.activeElement)) return;
    await page.keyboard.press("Tab");
  }
  throw new Error(`Tab does not lead to the ${role} ${name}`);
}

const press = async (page: Page, role: "button" | "link", name: string | RegExp): Promise<void> => {
  await tabTo(page, role, name);
  await page.keyboard.press("Enter");
};

const heading = (page: Page, name: string | RegExp) => page.getByRole("heading", { name });

const approvals = async ({ kernel }: Site, id: string) =>
  (await eventsOf({ kernel }, id))
    .filter(({ event_type }) => /^(USER_|GATE_)/.test(event_type))
    .map((e) => e.event_type);

describe("by keyboard alone", () => {
  it("a person signs in, finds what waits, sees what would run, approves, and watches it complete", async () => {
    await using site = await openStory();
    const id = await begin(site);
    await using visitor = await site.enter(ann);
    const { page, complaints } = visitor;
    await page.getByText("1 decision waits for you.").waitFor();
    await expect.poll(() => page.title()).toBe("(1) Inbox · Countersign"); // set once the page is painted
    await press(page, "link", "publish");
    await page.locator("h1:focus", { hasText: "publish" }).waitFor();
    const { payload_digest } = await site.kernel.gate(id, "gate-publish");
    await page.locator(".bound", { hasText: payload_digest }).waitFor({ state: "attached" });
    await press(page, "button", "Approve");
    await page.getByText("Approved. The work goes on.").first().waitFor();
    await page.getByText("Nothing waits for you.").waitFor();
    await press(page, "link", "publish");
    await press(page, "link", "See the run");
    await page.locator(".chart-state.lit", { hasText: "completed" }).waitFor();
    await page.getByText("the workflow: completed, since WORKFLOW_COMPLETED").waitFor();
    expect((await site.kernel.workflow(id)).state).toBe("completed");
    expect((await site.kernel.gate(id, "gate-publish")).decision?.principal?.id).toBe("ann");
    expect(complaints).toEqual([]);
  });

  it("a person goes back through the ledger by arrow keys and sees the run as it was", async () => {
    await using site = await openStory();
    const id = await begin(site);
    await using visitor = await site.enter(ann);
    const { page } = visitor;
    await page.goto(site.url + hashOf(id));
    await tabTo(page, "slider", /^Event 18 of 18/);
    for (let n = 0; n < 10; n += 1) await page.keyboard.press("ArrowLeft");
    await page.getByText("Event 8 of 18").waitFor();
    await page.locator(".chart-state.lit", { hasText: "running" }).waitFor();
    expect(new URL(page.url()).hash).toBe(`#/w/${id}?at=8`);
    await page.keyboard.press("End");
    await page.locator(".chart-state.lit", { hasText: "waiting_for_user" }).waitFor();
    expect(visitor.complaints).toEqual([]);
  });

  it("a person pauses a run, sees that it is paused, and has it go on", async () => {
    await using site = await openStory();
    const id = await begin(site);
    await using visitor = await site.enter(ann);
    const { page } = visitor;
    await page.goto(site.url + hashOf(id));
    await press(page, "button", "Pause");
    await page.locator(".state.held", { hasText: "paused" }).waitFor();
    await page.getByText("Paused by user ann").waitFor();
    expect((await site.kernel.workflow(id)).paused?.principal.id).toBe("ann");
    await page.goto(`${site.url}#/runs`);
    await page.locator(".state.held", { hasText: "paused" }).waitFor();
    await page.goto(site.url + hashOf(id));
    await press(page, "button", "Resume");
    await page.getByRole("button", { name: "Pause", exact: true }).waitFor();
    expect((await site.kernel.workflow(id)).paused).toBeNull();
    expect(visitor.complaints).toEqual([]);
  });

  it("a person rejects with a comment, which is in the record", async () => {
    await using site = await openStory();
    const id = await begin(site);
    await using visitor = await site.enter(ann);
    const { page } = visitor;
    await page.goto(site.url + hashOf(id, "/g/gate-publish"));
    await tabTo(page, "textbox", /^Comment/);
    await page.keyboard.type("not like this");
    await press(page, "button", "Reject");
    await heading(page, "Rejected. It will not run.").waitFor();
    await page.getByText("not like this").waitFor();
    expect((await site.kernel.gate(id, "gate-publish")).decision).toMatchObject({
      decision: "reject",
      comment: "not like this",
    });
    expect(visitor.complaints).toEqual([]);
  });

  it("a person changes what would run in a form of its schema, and that is what runs", async () => {
    const story = publishing();
    await using site = await openSite({ kernel: { capabilities: [story.capability] } });
    const id = await begin(site);
    await using visitor = await site.enter(ann);
    const { page } = visitor;
    await page.goto(site.url + hashOf(id, "/g/gate-publish"));
    await page.getByText("Change something first").press("Enter");
    await tabTo(page, "textbox", "Text");
    await page.keyboard.press("ControlOrMeta+A");
    await page.keyboard.insertText("a \u202ebetter note");
    await page.getByText("+text: a ‹U+202E RIGHT-TO-LEFT OVERRIDE›better note").waitFor();
    await page.keyboard.press("ControlOrMeta+A");
    await page.keyboard.type("a better note");
    await page.getByText("+text: a better note").waitFor();
    await press(page, "button", "Approve with these changes");
    await heading(page, "Approved. The work goes on.").waitFor();
    await site.kernel.settled(id);
    expect(story.publish.calls.map(({ input }) => input)).toEqual([{ text: "a better note", to: "board" }]);
    expect(visitor.complaints).toEqual([]);
  });
});

describe("several people", () => {
  it("carry a gate together in two browsers; each sees the other's vote, and one is taken back", async () => {
    await using site = await openStory({ gate: { quorum: { approvals: 2 } } });
    const id = await begin(site);
    await using first = await site.enter(ann);
    await using second = await site.enter(bo);
    for (const { page } of [first, second]) await page.goto(site.url + hashOf(id, "/g/gate-publish"));
    await press(first.page, "button", "Approve");
    await first.page.getByText("Your vote counts. 1 of 2 approvals are in.").first().waitFor();
    await second.page.getByText("user ann voted to approve").waitFor();
    await press(first.page, "button", "Withdraw my vote");
    await second.page.getByText("user ann voted to approve").waitFor({ state: "detached" });
    for (const { page } of [first, second]) await press(page, "button", "Approve");
    for (const { page } of [first, second])
      await page
        .getByText(/approved by user bo/)
        .first()
        .waitFor();
    expect((await site.kernel.settled(id)).state).toBe("completed");
    expect([...first.complaints, ...second.complaints]).toEqual([]);
  });

  it("see what was decided elsewhere: the inbox keeps it with who, the gate has no buttons any more", async () => {
    await using site = await openStory();
    const id = await begin(site);
    await using inbox = await site.enter(ann);
    await using gate = await site.enter(bo);
    await inbox.page.getByRole("link", { name: "publish" }).waitFor();
    await gate.page.goto(site.url + hashOf(id, "/g/gate-publish"));
    await gate.page.getByRole("button", { name: "Approve", exact: true }).waitFor();
    const { payload_digest } = await site.kernel.gate(id, "gate-publish");
    await site.kernel.decideGate(id, { ...admin, decision: "reject", payload: { payload_digest } });
    await heading(gate.page, "Decided elsewhere: rejected").waitFor();
    await gate.page.locator("#decided + p", { hasText: "rejected by user max" }).waitFor();
    expect(await gate.page.getByRole("button", { name: "Approve", exact: true }).count()).toBe(0);
    await heading(inbox.page, "Decided while you were here").waitFor();
    await inbox.page
      .getByText(/publish.*rejected by user max/)
      .first()
      .waitFor();
    await inbox.page.getByText("Nothing waits for you.").waitFor();
    expect([...inbox.complaints, ...gate.complaints]).toEqual([]);
  });

  it("approve nothing that changed under their eyes before they have seen it", async () => {
    await using site = await openStory({ gate: { separation: true, approvers: [{ id: "bo" }, { id: "max" }] } });
    const id = await begin(site);
    await using visitor = await site.enter(bo);
    const { page } = visitor;
    await page.goto(site.url + hashOf(id, "/g/gate-publish"));
    await page.getByRole("button", { name: "Approve", exact: true }).waitFor();
    const seen = (await site.kernel.gate(id, "gate-publish")).payload_digest;
    await site.kernel.decideGate(id, {
      ...admin,
      decision: "approve",
      payload: { payload_digest: seen, edit: { text: "moved meanwhile" } },
    });
    await page.getByText("has changed since you opened it").waitFor();
    expect(await page.getByRole("button", { name: "Approve", exact: true }).isDisabled()).toBe(true);
    expect(await page.getByText("moved meanwhile").count()).toBe(0);
    await press(page, "button", "Show what it shows now");
    await heading(page, "What is different from what you saw first").waitFor();
    await page.locator("ins", { hasText: "moved meanwhile" }).first().waitFor();
    await press(page, "button", "Approve");
    await heading(page, "Approved. The work goes on.").waitFor();
    expect((await site.kernel.gate(id, "gate-publish")).payload_digest).not.toBe(seen);
    expect(await approvals(site, id)).toEqual(["GATE_OPENED", "GATE_REVISED", "USER_APPROVED"]);
  });

  it("are told where another's vote would have it applied before they approve that", async () => {
    await using site = await openStory({ gate: { quorum: { approvals: 2 } } });
    const id = await begin(site);
    await using visitor = await site.enter(bo);
    const { page } = visitor;
    await page.goto(site.url + hashOf(id, "/g/gate-publish"));
    await page.getByRole("button", { name: "Approve", exact: true }).waitFor();
    const { payload_digest } = await site.kernel.gate(id, "gate-publish");
    const payload = { payload_digest, apply_targets: ["board"] };
    await site.kernel.decideGate(id, { ...admin, decision: "approve", payload });
    await page.getByText("has changed since you opened it").waitFor();
    expect(await page.getByRole("button", { name: "Approve", exact: true }).isDisabled()).toBe(true);
    await press(page, "button", "Show what it shows now");
    await page.getByText("Different: where it would be applied.").waitFor();
    await press(page, "button", "Approve");
    await heading(page, "Approved. The work goes on.").waitFor();
  });

  it("who have no seat are told why, and see no button that would be refused", async () => {
    await using site = await openStory({ gate: { roles: ["admin"] } });
    const id = await begin(site);
    await using visitor = await site.enter(ann);
    const { page } = visitor;
    await page.getByText("Nothing waits for you.").waitFor();
    await page.goto(site.url + hashOf(id, "/g/gate-publish"));
    await page.getByText(/You cannot decide here: .*for admin, not for user/).waitFor();
    expect(await page.getByRole("button", { name: /Approve|Reject/ }).count()).toBe(0);
  });
});

describe("a session", () => {
  it("that is about to end says so a minute before, and goes on by one word", async () => {
    const clock = createVirtualClock(Date.now());
    await using site = await openStory({}, { clock, sessions: { home: "/", idleMs: 120_000 } });
    await using visitor = await site.enter(ann);
    const { page } = visitor;
    await page.getByText("Nothing waits for you.").waitFor();
    await page.clock.install({ time: clock.now() });
    await page.reload();
    await page.getByText("Nothing waits for you.").waitFor();
    await page.clock.runFor(50_000);
    expect(await page.getByText("You will be signed out").count()).toBe(0);
    await clock.advance(65_000);
    await page.clock.runFor(15_000);
    await page.getByText("You will be signed out in less than a minute.").waitFor();
    await press(page, "button", "Stay signed in");
    await page.getByText("You will be signed out").waitFor({ state: "detached" });
    await clock.advance(121_000);
    await page.clock.runFor(121_000);
    await heading(page, "Sign in").waitFor();
  });

  it("that has ended leads to the page that says how to sign in, and a link leads back to where one was", async () => {
    await using site = await openStory();
    const id = await begin(site);
    await using visitor = await site.enter(ann);
    const { page, context, complaints } = visitor;
    await page.goto(site.url + hashOf(id, "/g/gate-publish"));
    await page.getByRole("button", { name: "Approve", exact: true }).waitFor();
    await context.clearCookies();
    await press(page, "button", "Approve");
    await heading(page, "Sign in").waitFor();
    await page.getByLabel("Or paste the link here").fill("http://elsewhere.test/login?code=x");
    await press(page, "button", "Go on");
    await page.getByText("This is no link of this server.").waitFor();
    await page.getByLabel("Or paste the link here").fill(await site.link(ann));
    await press(page, "button", "Go on");
    await press(page, "button", "Sign in");
    await heading(page, "publish").waitFor();
    expect((await site.kernel.workflow(id)).state).toBe("waiting_for_user");
    expect(complaints).toEqual([]);
  });

  it("is not kept alive by a page that nobody touches, however much it is told", async () => {
    const clock = createVirtualClock(Date.now());
    await using site = await openStory({}, { clock, sessions: { home: "/", idleMs: 150_000 } });
    await using visitor = await site.enter(ann);
    const { page } = visitor;
    await page.clock.install({ time: clock.now() });
    await page.reload();
    await page.getByText("Nothing waits for you.").waitFor();
    await page.getByText("live", { exact: true }).waitFor();
    for (const waiting of ["1 decision waits", "2 decisions wait"]) {
      await page.clock.runFor(61_000);
      await clock.advance(61_000);
      await begin(site);
      // The feed tells it, and then the page reads it: neither is a person's doing.
      for (let i = 0; i < 20 && (await page.getByText(`${waiting} for you.`).count()) === 0; i += 1)
        await page.clock.runFor(500);
      await page.getByText(`${waiting} for you.`).waitFor();
    }
    await clock.advance(61_000);
    await page.clock.runFor(61_000);
    await heading(page, "Sign in").waitFor();
  });

  it("is not kept alive by a page that shows what is over: nothing is asked for again", async () => {
    await using site = await openStory();
    const id = await begin(site);
    const { payload_digest } = await site.kernel.gate(id, "gate-publish");
    await site.kernel.decideGate(id, { ...ann, decision: "approve", payload: { payload_digest } });
    await site.kernel.settled(id);
    await using visitor = await site.enter(ann);
    const { page } = visitor;
    await page.clock.install();
    const over = page.waitForResponse(
      (response) => response.url().includes("/events?after=") && response.request().method() === "HEAD",
    );
    await page.goto(site.url + hashOf(id));
    await page.locator(".chart-state.lit", { hasText: "completed" }).waitFor();
    await page.clock.runFor(5000);
    expect((await over).status()).toBe(204);
    const asked: string[] = [];
    page.on("request", (request) => asked.push(request.url()));
    await page.clock.runFor(600_000);
    expect(asked).toEqual([]);
    expect(visitor.complaints).toEqual([]);
  });

  it("survives a restart of its server: the page says so, returns by itself, and shows what happened", async () => {
    using folder = makeTempFolder();
    const open = (port = 0) => {
      const ledger = sqliteLedger({ path: `${folder.path}/ledger.db` });
      return openSite({
        kernel: { ledger, capabilities: [publishing().capability] },
        http: { sessions: { home: "/", store: ledger.sessions } },
        port,
      });
    };
    const before = await open();
    const id = await begin(before);
    await using visitor = await before.enter(ann);
    const { page, complaints } = visitor;
    await page.goto(before.url + hashOf(id));
    await page.locator(".chart-state.lit", { hasText: "waiting_for_user" }).waitFor();
    await page.getByText("live", { exact: true }).waitFor();
    await before[Symbol.asyncDispose]();
    await page.getByText("not connected, trying again…").waitFor();
    await using after = await open(Number(new URL(before.url).port));
    await page.getByText("live", { exact: true }).waitFor();
    const { payload_digest } = await after.kernel.gate(id, "gate-publish");
    await after.kernel.decideGate(id, { ...ann, decision: "approve", payload: { payload_digest } });
    await page.locator(".chart-state.lit", { hasText: "completed" }).waitFor();
    expect(complaints).toEqual([]);
  });
});
