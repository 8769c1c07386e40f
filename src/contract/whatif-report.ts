/** The report of what-if: past decisions that another policy set would have taken otherwise, and their counts. */
import { z } from "zod";
import { JsonValue } from "./json.ts";
import { PolicyDecision, PolicyStage } from "./policy.ts";

/** A transform is any JSON, and null if there is none. */
const Decision = PolicyDecision.extend({ transform: JsonValue });

/** A past decision that would be another one, or that cannot be asked again (`would_be` is null). */
export const WhatIfFinding = z.object({
  kind: z.enum(["differs", "unknown"]),
  workflow_id: z.string(),
  sequence: z.int(),
  event_id: z.string(),
  timestamp: z.string(),
  stage: PolicyStage,
  step_id: z.string().nullable(),
  subject: z.string(),
  was: Decision,
  would_be: Decision.nullable(),
  /** The difference and its reason; or the reason why it cannot be computed. */
  reason: z.string(),
});
export type WhatIfFinding = z.infer<typeof WhatIfFinding>;

/** The counts of a what-if. */
export const WhatIfReport = z.object({
  policy_version: z.string(),
  workflows: z.int(),
  decisions: z.int(),
  differing: z.int(),
  unknown: z.int(),
  /** The number of each change of decision, such as `ALLOW → DENY`. */
  changes: z.record(z.string(), z.int()),
});
export type WhatIfReport = z.infer<typeof WhatIfReport>;
