/** The risk of a step, as plans, operators, gates and their lists name it. */
import { z } from "zod";

/** The risk of a step. */
export const RiskLevel = z.enum(["low", "medium", "high"]);
export type RiskLevel = z.infer<typeof RiskLevel>;
