/** What tests of migrations share: a ledger in which two tenants have used one model endpoint. */
import type { LedgerStore } from "../../src/ports/ledger-store.ts";
import { createTestKernel } from "../../src/testing/test-kernel.ts";
import { intent, oneStep, skill } from "../execution/flow.ts";
import { endpoint } from "../routing/model-fixture.ts";

export async function routeTwoTenants(ledger: LedgerStore): Promise<void> {
  const asking = skill("Probe.Ask", async ({ route, usage }) => {
    const { endpoint: got } = await route();
    usage({ model: got.name, tokens: { in: 3, out: 4, total: 7 } });
    return got.name;
  });
  await using t = await createTestKernel({
    capabilities: [oneStep(asking)],
    models: { endpoints: [endpoint("small")] },
    ledger,
  });
  for (const tenant_id of ["acme", "umbrella"]) await t.run(intent, {}, { tenant_id });
}
