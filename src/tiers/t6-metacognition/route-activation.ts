/**
 * The activation router (alias corporate router): how much of the kernel a request needs, by its tags.
 *
 * Reads urgency and domain, sets complexity; the pipeline follows from a table.
 */
import { moduleRef } from "../../contract/module-ref.ts";
import type { Signal } from "../../contract/signal.ts";
import type { Scorers } from "../../ports/perception.ts";
import type { Kit } from "../../runtime/kit.ts";

type Complexity = "trivial" | "simple" | "moderate" | "complex";

/** Pipeline by complexity. A critical request always gets the enhanced one. */
export const pipelines: Readonly<Record<Complexity, string>> = Object.freeze({
  trivial: "direct",
  simple: "standard",
  moderate: "standard",
  complex: "enhanced",
});

const routerRef = moduleRef(6, "activation_router", "route");
const target = moduleRef(4, "ooda_loop", "act");

/** The COMMAND that activates T4, with the intake it is about. */
export function routeActivation(signal: Signal, kit: Kit, scorers: Scorers): Signal {
  const intake = signal.body["data"] as { readonly intent: { readonly text: string; readonly inputs: unknown } };
  const complexity = scorers.complexity({ text: intake.intent.text, inputs: intake.intent.inputs });
  const pipeline = signal.tags["urgency"] === "critical" ? "enhanced" : pipelines[complexity];
  const tags = { complexity, urgency: signal.tags["urgency"] ?? "normal", domain: signal.tags["domain"] ?? "general" };
  return kit.signals.createCommandSignal(
    "activate",
    target,
    routerRef,
    signal.trace_id,
    { pipeline, intake },
    { tags, parentId: signal.id },
  );
}
