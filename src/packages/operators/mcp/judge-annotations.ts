/**
 * Determines the effect of a tool from its server's annotations and the host's options for both.
 *
 * Owns: the reading of MCP's annotations as effect, idempotency and risk. Never: lets a server's own word lower the
 * effect, or promise idempotency, unless the host trusts that server.
 * 1.  Untrusted, an annotation can only raise the effect above the host's default for the server.
 * 2.  Trusted, a hint that is missing reads as the protocol's default: not read-only, destructive, open world.
 * 3.  A server that says nothing of a tool leaves it the host's default.
 */
import type { ToolAnnotations } from "@modelcontextprotocol/client";
import { type Effect, effects, isHarmless } from "../../../contract/operator.ts";

export interface ToolStance {
  readonly effect: Effect;
  readonly idempotent: boolean;
  readonly riskLevel: "low" | "medium" | "high";
}

export interface Trust {
  /** The host's word for tools of this server that nothing else is said of. */
  readonly effect: Effect;
  readonly trustAnnotations: boolean;
}

export function judgeAnnotations(hints: ToolAnnotations | undefined, { effect, trustAnnotations }: Trust): ToolStance {
  const stated = trustAnnotations ? readTrusted(hints) : readWarning(hints);
  const judged = trustAnnotations ? (stated ?? effect) : stronger(stated ?? "none", effect);
  const idempotent = trustAnnotations && hints?.idempotentHint === true;
  return {
    effect: judged,
    idempotent,
    riskLevel: riskOf(judged, trustAnnotations && hints?.destructiveHint === false),
  };
}

function readTrusted(hints: ToolAnnotations | undefined): Effect | null {
  const { readOnlyHint, destructiveHint, openWorldHint } = hints ?? {};
  if ([readOnlyHint, destructiveHint, openWorldHint].every((hint) => hint === undefined)) return null;
  if (readOnlyHint === true) return "read";
  return openWorldHint === false ? "final_write" : "external_send";
}

/** Reads the warnings of a server, which are believed without trust. */
function readWarning({ readOnlyHint, destructiveHint, openWorldHint }: ToolAnnotations = {}): Effect | null {
  if (openWorldHint === true && readOnlyHint !== true) return "external_send";
  return readOnlyHint === false || destructiveHint === true ? "final_write" : null;
}

const stronger = (a: Effect, b: Effect): Effect => (effects.indexOf(a) > effects.indexOf(b) ? a : b);

function riskOf(effect: Effect, additive: boolean): ToolStance["riskLevel"] {
  if (isHarmless(effect)) return "low";
  return additive || effect === "write_draft" ? "medium" : "high";
}
