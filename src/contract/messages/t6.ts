/** The messages that T6, metacognition, answers. */
import type { KernelError } from "../error.ts";
import type { Intake } from "../intake.ts";
import type { JsonObject } from "../json.ts";
import { messagesOf } from "./message.ts";

const { relay } = messagesOf(6);

const review = { module: "load_monitor", function: "review" } as const;
const publish = { module: "artifact_bus", function: "publish" } as const;

export const t6 = {
  routeActivation: relay<Intake>("NormalizedIntent", { module: "activation_router", function: "route", next: 5 }),
  reviewPlan: relay<{ readonly calls: readonly string[] }>("PlanReview", review),
  reviewReplan: relay<{ readonly workflow_id: string; readonly plans: readonly (readonly string[])[] }>(
    "ReplanReview",
    review,
  ),
  notify: relay<JsonObject>("Notification", publish),
  alertSync: relay<JsonObject>("FederatedSyncAlert", publish),
  escalate: relay<KernelError>("KernelError", { module: "activation_router", function: "escalate", next: 7 }),
};
