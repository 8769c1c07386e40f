/**
 * The activation router (alias corporate router): how much of the kernel a request needs, by its tags.
 *
 * Reads urgency and domain, sets complexity; the pipeline follows from a table.
 */
import type { Intake } from "../../contract/intake.ts";
import { moduleRef } from "../../contract/module-ref.ts";
import type { Signal } from "../../contract/signal.ts";
import type { Visit } from "../../engine/actors/answer-messages.ts";
import type { Scorers } from "../../ports/perception.ts";

type Complexity = "trivial" | "simple" | "moderate" | "complex";

/** Pipeline by complexity. A critical request always gets the enhanced one. */
export type Pipeline = "direct" | "standard" | "enhanced";

export const pipelines: Readonly<Record<Complexity, Pipeline>> = Object.freeze({
  trivial: "direct",
  simple: "standard",
  moderate: "standard",
  complex: "enhanced",
});

/** The domains with a pipeline of their own: work that concerns money is reviewed before it runs. */
export const defaultDomainPipelines: Readonly<Record<string, Pipeline>> = Object.freeze({ finance: "enhanced" });

const routerRef = moduleRef(6, "activation_router", "route");
const target = moduleRef(4, "ooda_loop", "act");

export interface Routing {
  readonly scorers: Scorers;
  readonly domainPipelines: Readonly<Record<string, Pipeline>>;
}

/** Returns the COMMAND that activates T4, with its intake. */
export function routeActivation(
  intake: Intake,
  { signal, runtime }: Visit,
  { scorers, domainPipelines }: Routing,
): Signal {
  const { urgency = "normal", domain = "general" } = signal.tags;
  const complexity = scorers.complexity({ text: intake.intent.text, inputs: intake.intent.inputs });
  const pipeline = urgency === "critical" ? "enhanced" : (domainPipelines[domain] ?? pipelines[complexity]);
  const options = { tags: { complexity, urgency, domain }, parentId: signal.id };
  return runtime.signals.createCommandSignal(
    "activate",
    target,
    routerRef,
    signal.trace_id,
    { pipeline, intake },
    options,
  );
}
