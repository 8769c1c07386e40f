/** Makes the drives known to Restate, through its admin API. Owns: that one request. */

import { HttpCallError } from "@restatedev/restate-sdk-clients";
import type { KernelError } from "../../contract/error.ts";
import type { DriveRegistration } from "./index.ts";
import { failureOf } from "./send-drives.ts";

const timeoutMs = 10_000;

/**
 * Registers drives. Each kernel does so when it starts, under the shared address: it replaces the earlier registration,
 * which no running drive can notice. Returns the failure; null if it succeeded.
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
