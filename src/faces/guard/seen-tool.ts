/**
 * A tool as its server lists it now: its definition, and the effect that its annotations state.
 *
 * 1.  A call is made of the definition that it was judged with, and by the operator of that definition's effect:
 *     whoever submits a call does not choose its effect.
 */
import type { Tool } from "@modelcontextprotocol/server";
import { kernelError } from "../../contract/error-codes.ts";
import { raise } from "../../contract/kernel-error.ts";
import { moduleRef } from "../../contract/module-ref.ts";
import { judgeAnnotations } from "../../packages/operators/mcp/judge-annotations.ts";
import { mcpError } from "../../packages/operators/mcp/mcp-error.ts";
import { defineSeen } from "./accept-package.ts";
import type { CallInput, ToolRequest } from "./call-package.ts";

export interface SeenTool {
  /** The digest of its definition. */
  readonly digest: string;
  readonly effect: CallInput["effect"];
}

const seenRef = moduleRef(0, "guard", "seen_tool");

/** Reads a tool as its server lists it. */
export function readSeen(tool: Tool): SeenTool {
  const { effect } = judgeAnnotations(tool.annotations, { effect: "final_write", trustAnnotations: true });
  return { digest: defineSeen(tool).digest, effect: effect === "read" ? "read" : "final_write" };
}

/**
 * Requires the definition that the call was judged with, and the effect that it states. A writing operator may call a
 * tool that only reads. @throws KernelErrorException T0_GUARD_TOOL_CHANGED, T0_VALIDATION_SCHEMA_MISMATCH.
 */
export function requireSeen({ tool, definition }: ToolRequest, now: SeenTool | undefined, isRead: boolean): void {
  if (now?.digest !== definition) {
    const what = now === undefined ? "is not listed any more" : "has another definition since";
    throw mcpError("T0_GUARD_TOOL_CHANGED", `${tool} ${what}`, { retry: false });
  }
  if (isRead && now.effect !== "read")
    raise(kernelError("T0_VALIDATION_SCHEMA_MISMATCH", `effect: ${tool} does not say that it only reads`, seenRef));
}
