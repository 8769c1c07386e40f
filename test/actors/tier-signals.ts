/** COMMAND Signals as T5, T6 and T7 send them to tiers and to workflows (seed 000, standard actions). */
import type { JsonObject } from "../../src/contract/json.ts";
import { moduleRef } from "../../src/contract/module-ref.ts";
import { createCommandSignal, type Signal } from "../../src/contract/signal.ts";
import type { Tier } from "../../src/engine/actors/bus.ts";

const lifecycleRef = moduleRef(5, "lifecycle", "command");

export function command(action: string, tier: Tier, payload: JsonObject = {}): Signal {
  return createCommandSignal(action, moduleRef(tier, "door", action), lifecycleRef, "cor_test", payload);
}

export const auth = Object.freeze({
  tenant_id: 1,
  principal_id: 1,
  principal_type: "user",
  role: "user",
  scopes: ["workflow:execute"],
  data_policy: { allow_pii: true, allow_external_send: false },
});
export const principal = Object.freeze({ type: "user", id: 1, role: "user" });

/** To the workflow's run, by way of T4. */
export const toWorkflow = (action: string, workflow_id: string, more: JsonObject = {}): Signal =>
  command(action, 4, { workflow_id, auth, principal, ...more });
