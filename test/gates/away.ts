/**
 * People who are away: short ways to name and end stand-ins.
 * Never: asserts anything.
 */
import type { EndStandInRequest, StandInRequest } from "../../src/index.ts";
import { type TestKernel, testCaller } from "../../src/testing/index.ts";
import type { Person } from "./people.ts";

const { tenant_id } = testCaller;
export const hour = 3_600_000;
export const day = 24 * hour;
export const later = (t: TestKernel, ms = hour): string => new Date(t.clock.now() + ms).toISOString();

type Terms = Partial<Pick<StandInRequest, "from" | "until" | "reason">>;

/** The first is away, the second stands in; for an hour where nothing else is said. */
export const away = (t: TestKernel, [principal, to]: readonly [Person, Person], terms: Terms = {}) =>
  t.kernel.standIn({
    ...{ tenant_id, principal, to: { type: to.type, id: to.id } },
    ...{ until: later(t), reason: "on leave", ...terms },
  });

export const endAway = (t: TestKernel, principal: Person, stand_in_id: EndStandInRequest["stand_in_id"]) =>
  t.kernel.endStandIn({ tenant_id, principal, stand_in_id });
