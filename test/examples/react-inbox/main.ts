/** Opens the inbox in a browser, as Bo would: asks for a refund, approves what is shown, and sees it end. `npm test` */
import chromium from "@sparticuz/chromium";
import { chromium as browsers } from "playwright-core";
import { person, request } from "../shop/refund.ts";
import { openInbox } from "./serve.ts";

const inbox = await openInbox(0);
const browser = await browsers.launch({ executablePath: process.env["CHROME"] ?? (await chromium.executablePath()) });
const page = await browser.newPage();
page.on("pageerror", (error) => console.log("the page failed:", error.message));

await page.goto(inbox.link);
await page.getByRole("button").click(); // the link's page signs in
await page.getByText("up to date").waitFor();
await page.getByLabel("Order").fill("A-7");
await page.getByLabel("Cents").fill("1999");
await page.getByRole("button", { name: "Ask for a refund" }).click();
const gates = page.getByRole("article");
console.log("Bo is shown", await gates.locator("pre").textContent());
await gates.getByRole("button", { name: "Approve" }).click();
const runs = page.getByRole("list", { name: "Runs" }).getByRole("listitem");
const ended = runs.filter({ hasText: /completed.*paid/ }); // the answer is read once the feed tells the end
console.log("the page follows:", await ended.textContent());

// The request comes from elsewhere: nobody loads the page again.
const { workflow_id } = await inbox.kernel.submit({ ...person("ann"), ...request });
await gates.getByRole("button", { name: "Reject" }).click();
await runs.filter({ hasText: "cancelled" }).waitFor();
console.log("the kernel says:", (await inbox.kernel.settled(workflow_id)).state);

await browser.close();
await inbox.stop();
