/** Stopping work in the console: by keyboard, after its word was typed, and lifted by one press. */
import { expect, it } from "vitest";
import { intent, publishing } from "../gates/story.ts";
import { admin, openSite } from "./site.ts";

it("stops all work once its word is typed, shows how much is held, and lets it go on again", async () => {
  await using site = await openSite({ kernel: { capabilities: [publishing().capability] } });
  await using visitor = await site.enter(admin);
  const { page, complaints } = visitor;
  await page.goto(`${site.url}#/halts`);
  await page.getByText("Nothing is stopped.").waitFor();
  const stop = page.getByRole("button", { name: "Stop", exact: true });
  await page.getByLabel("Reason").fill("the accounts are checked");
  expect(await stop.isDisabled()).toBe(true);
  await page.getByLabel("to confirm").fill("stop");
  await page.getByLabel("to confirm").press("Enter");
  await page.getByRole("heading", { name: "All work is stopped" }).waitFor();
  expect(await site.kernel.halts(admin.tenant_id)).toMatchObject([{ of: {} }]);

  const { workflow_id } = await site.kernel.submit({ ...admin, intent_hint: { intent_type: intent } });
  await page.reload();
  await page.getByText(/It holds 1 run/).waitFor();
  expect((await site.kernel.workflow(workflow_id)).held_by).toHaveLength(1);
  await page.getByRole("button", { name: "Lift" }).press("Enter");
  await page.getByText("Nothing is stopped.").waitFor();
  expect((await site.kernel.settled(workflow_id)).state).toBe("waiting_for_user");
  expect(complaints).toEqual([]);
});
