/** Makes the drives known to Restate, through its admin API. Owns: that one request. */

import { HttpCallError } from "@restatedev/restate-sdk-clients";
import type { KernelError } from "../../contract/error.ts";
import type { DriveRegistration } from "./index.ts";
import { failureOf } from "./send-drives.ts";

const timeoutMs = 10_000;

/**
 * Again and again, by each kernel that starts, under the address that all of them share: what was registered there before
 * is replaced, which no drive that is under way can notice. Gives what it fails with; null when it is done.
 */
export async function registerDrives(
  { admin, uri }: DriveRegistration,
  headers: Readonly<Record<string, string>>,
): Promise<KernelError | null> {
  try {
    const response = await fetch(`${admin.replace(/\/$/, "")}/deployments`, {
      method: "POST",
      headers: { ...headers, "content-type": "application/json" },
      body: JSON.stringify({ uri, force: true }),
      signal: AbortSignal.timeout(timeoutMs),
    });
    const answer = await response.text();
    return response.ok ? null : failureOf(new HttpCallError(response.status, answer, answer), "register");
  } catch (thrown) {
    return failureOf(thrown, "register");
  }
}
