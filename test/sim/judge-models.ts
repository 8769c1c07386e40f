/**
 * A route goes to the first endpoint, those last that have failed it, and passes over those alone whose
 * budget is spent; no budget is overrun by a decision. (That a model is asked on record only: `OutsideWorld.askModel`.)
 */
import { isDeepStrictEqual } from "node:util";
import { type EventPayloads, type LedgerEvent, payloadOf } from "../../src/contract/event.ts";
import type { ModelEndpoint } from "../../src/contract/model-route.ts";
import type { OutsideWorld } from "./outside-world.ts";
import type { Story } from "./story.ts";
import type { StoryModels } from "./story-models.ts";

type Route = EventPayloads["ROUTE_DECIDED"];
type Spent = Record<"calls" | "tokens" | "money", number>;

/** What is spent of each endpoint by what stands in the ledger, route by route. */
class Accounts {
  readonly routes: Route[] = [];
  readonly #spent = new Map<string, Spent>();

  of(name: string): Spent {
    const spent = this.#spent.get(name) ?? { calls: 0, tokens: 0, money: 0 };
    this.#spent.set(name, spent);
    return spent;
  }

  isSpent({ name, budget = {} }: ModelEndpoint, expected: number): boolean {
    const { calls, tokens, money } = this.of(name);
    const { max_invocations = 1e9, max_tokens = 1e9, max_money = 1e9 } = budget;
    return calls >= max_invocations || tokens + expected > max_tokens || money >= max_money;
  }

  decide(route: Route): void {
    this.routes.push(route);
    if (route.decision === null) return;
    const account = this.of(route.decision.endpoint.name);
    account.calls += 1;
    account.tokens += route.request.expected_tokens;
  }

  /** What a call took, in place of what was set aside for it; what nobody told stays set aside. */
  end({ event_type: type, payload }: LedgerEvent): void {
    if ((type !== "ACTION_SUCCEEDED" && type !== "ACTION_FAILED") || payload["pending"] === true) return;
    const { action_id, attempt, usage } = payload as unknown as EventPayloads["ACTION_SUCCEEDED"];
    const route = this.routes.findLast((one) => one.action_id === action_id && one.attempt === attempt);
    if (usage.model === undefined || route?.decision?.endpoint.name !== usage.model) return;
    const account = this.of(usage.model);
    account.tokens += usage.tokens === undefined ? 0 : usage.tokens.total - route.request.expected_tokens;
    account.money += usage.cost?.total ?? 0;
  }
}

export function judgeModels({ models }: Story, { durable }: OutsideWorld): readonly string[] {
  if (models === null) return [];
  const accounts = new Accounts();
  return durable.flatMap(({ event }) => {
    accounts.end(event);
    if (event.event_type !== "ROUTE_DECIDED") return [];
    const route = payloadOf(event, "ROUTE_DECIDED");
    const failed = judgeRoute(models, route, accounts);
    accounts.decide(route);
    return failed === null ? [] : [`route: ${event.step_id} of ${event.workflow_id} at ${event.sequence}: ${failed}`];
  });
}

function judgeRoute({ endpoints }: StoryModels, route: Route, accounts: Accounts): string | null {
  const { action_id, attempt, decision, exhausted, request } = route;
  const earlier = accounts.routes.filter((one) => one.action_id === action_id && one.attempt < attempt);
  const failed = new Set(earlier.map((one) => one.decision?.endpoint.name));
  const order = endpoints.toSorted((a, b) => Number(failed.has(a.name)) - Number(failed.has(b.name)));
  const taken = order.findIndex(({ name }) => name === decision?.endpoint.name);
  const passed = order.slice(0, taken < 0 ? order.length : taken);
  const names = passed.map(({ name }) => name);
  if (!isDeepStrictEqual(names, exhausted)) return `it passes over ${names}, and says that ${exhausted} are spent`;
  const isSpent = (one: ModelEndpoint): boolean => accounts.isSpent(one, request.expected_tokens);
  if (order[taken] !== undefined && isSpent(order[taken])) return `${order[taken].name} was spent`;
  // Tokens that were set aside may have been given back since it was looked at.
  const left = passed.find((one) => one.budget?.max_tokens === undefined && !isSpent(one));
  return left === undefined ? null : `${left.name} was not spent`;
}
