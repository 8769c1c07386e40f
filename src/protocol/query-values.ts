/** The cursor of a list of gates, over HTTP and on the command line. */
import { z } from "zod";
import { GateId, WorkflowId } from "../contract/ids.ts";

/** The gate that a page ended with. */
export const GateCursor = z.templateLiteral([WorkflowId, "/", GateId]);
