/** Every view of the console, over runs in several states: what is looked at for access, and for pictures. */
import { intent, publishing } from "../gates/story.ts";
import { ann, bo, hashOf, openSite, type Site } from "./site.ts";

export interface Gallery extends AsyncDisposable {
  readonly site: Site;
  /** By name: the address after the host, and what is there once the view is drawn. */
  readonly views: readonly (readonly [name: string, address: string, drawn: string])[];
}

const budgets = {
  limits: [
    { scope: "tenant" as const, window: "day" as const, invocations: 8, tokens: 1000 },
    { scope: "operator" as const, invocations: 20 },
  ],
};

export async function openGallery(): Promise<Gallery> {
  const gate = {
    reason: "somebody reads what goes to the board",
    quorum: { approvals: 2 },
    expiry: { after_ms: 3_000_000, action: "escalate" as const, role: "admin" },
  };
  const site = await openSite({ kernel: { budgets, capabilities: [publishing({ gate }).capability] } });
  const begin = async () => {
    const request = { ...ann, intent_hint: { intent_type: intent, inputs: {} } };
    const { workflow_id: id } = await site.kernel.submit(request);
    await site.kernel.settled(id);
    return id;
  };
  const [waiting, ended] = [await begin(), await begin()];
  for (const who of [ann, bo])
    await site.kernel.decideGate(ended, { ...who, decision: "approve", payload: { comment: "agreed" } });
  await site.kernel.settled(ended);
  const views = [
    ["inbox", "/#/", ".item"],
    ["gate", hashOf(waiting, "/g/gate-publish"), ".around"],
    ["decided gate", hashOf(ended, "/g/gate-publish"), "#decided"],
    ["run", hashOf(waiting), ".chart-state.lit"],
    ["run before", hashOf(ended, "?at=12"), ".chart-state.lit"],
    ["timeline", hashOf(ended, "/time"), ".events li"],
    ["why", hashOf(ended, "/why"), ".causes li"],
    ["runs", "/#/runs", "tbody tr"],
    ["home", "/#/home", ".figure"],
    ["new run", "/#/start", "form"],
    ["what if", "/#/what-if", "form"],
    ["budgets", "/#/budgets", "meter"],
    ["inspect", `/#/inspect?workflow=${ended}`, ".sequence li"],
    ["compare", `/#/compare/${ended}/${waiting}`, ".compared"],
    ["no such page", "/#/nowhere", "h1"],
  ] as const;
  return { site, views, [Symbol.asyncDispose]: () => site[Symbol.asyncDispose]() };
}
