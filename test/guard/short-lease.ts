/** The host of guards in tests: a process that was killed is found out within a second. */
import { defineHost } from "../../src/index.ts";

export const host = defineHost({ limits: { leaseMs: 900 } });
