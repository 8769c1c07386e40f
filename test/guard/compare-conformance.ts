/**
 * Prints the scenarios of the protocol's own judge whose results differ through a guard: `npm run conformance:guard`.
 */
import { type Compared, compareEverything, compareOwn, isWorse } from "./judge-guarded.ts";

type Checks = Compared["alone"];

const tell = (checks: Checks): string =>
  checks === null ? "not run" : `${checks.passed} passed, ${checks.failed} failed`;
const sum = (all: readonly Checks[]): number => all.reduce((total, checks) => total + (checks?.passed ?? 0), 0);

const servers = { "server-everything": compareEverything, "the server of test/mcp": compareOwn };
for (const [server, compare] of Object.entries(servers)) {
  const compared = await compare();
  const others = compared.filter(({ alone, guarded }) => tell(alone) !== tell(guarded));
  const passed = [sum(compared.map(({ alone }) => alone)), sum(compared.map(({ guarded }) => guarded))];
  const same = compared.length - others.length;
  process.stdout.write(`${server}: ${compared.length} scenarios, ${same} with the same result; checks passed: `);
  process.stdout.write(`${passed.join(" alone, ")} guarded; worse guarded: ${compared.filter(isWorse).length}\n`);
  for (const { name, alone, guarded } of others)
    process.stdout.write(`  ${name}: alone ${tell(alone)}; guarded ${tell(guarded)}\n`);
}
