/** The cursor of a list of gates, over HTTP and on the command line. */
import { z } from "zod";
import { GateId, WorkflowId } from "../contract/ids.ts";

/** The gate that a page ended with; in a list with an order its instant stands before it, in epoch ms. */
export const GateCursor = z.union([
  z.templateLiteral([WorkflowId, "/", GateId]),
  z.templateLiteral([z.number(), "/", WorkflowId, "/", GateId]),
]);
