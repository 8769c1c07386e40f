/** What filters and cursors of lists are given as, over HTTP and on the command line. */
import { z } from "zod";
import { GateId, WorkflowId } from "../contract/ids.ts";

/** ISO 8601: an instant with its offset, or a day, which begins in UTC. */
export const Instant = z.union([z.iso.datetime({ offset: true }), z.iso.date()]);

/** The gate that a page ended with. */
export const GateCursor = z.templateLiteral([WorkflowId, "/", GateId]);
