/**
 * `whatif`: finds past decisions that another policy set would have decided differently. It only reads: no workflow
 * runs and nothing is written.
 *
 * 1.  The exit code is 0 whether or not anything differs; findings go to stdout, the speed to stderr.
 * 2.  With --json each finding is a line, and the last line is the report (`kind` is "report").
 */
import type { Command } from "commander";
import type { WhatIfFinding, WhatIfReport } from "../../index.ts";
import { showLine } from "../../protocol/visible-text.ts";
import { loadHost } from "./load-host.ts";
import { loadPolicies } from "./load-modules.ts";
import { withKernel } from "./open-kernel.ts";
import { addCommonOptions, type CommonOptions, readCount, readTime, type Session } from "./options.ts";
import { readFound } from "./read-found.ts";
import { type Column, renderTable } from "./render-table.ts";
import { describeTime } from "./render-text.ts";
import { UsageError } from "./report-error.ts";
import type { Terminal } from "./terminal.ts";

interface WhatIfOptions extends CommonOptions {
  readonly since?: string;
  readonly default: boolean;
  readonly intent?: string;
  readonly workflow?: string;
  readonly limit: number;
}

export function addWhatIf(program: Command, terminal: Terminal): void {
  addCommonOptions(program.command("whatif"))
    .description("list the past decisions that the rules of --policies, or else of --host, would have taken otherwise")
    .option("--since <time>", "only decisions since this instant, or of the last 30m, 12h, 7d", readTime(terminal))
    .option("--no-default", "without the default rules behind them")
    .option("--intent <type>", "only workflows of this intent type")
    .option("--workflow <id>", "only this workflow")
    .option("--limit <n>", "show at most so many rows; all are counted", readCount, 200)
    .action((options: WhatIfOptions) => listDifferences({ options, terminal }));
}

async function listDifferences(session: Session<WhatIfOptions>): Promise<void> {
  const { options, terminal } = session;
  const host = await loadHost(options.host);
  if (options.policies.length === 0 && host === null)
    throw new UsageError("name the rules to try with --policies, or a host with --host");
  const policies =
    host === null || options.policies.length > 0 ? await loadPolicies(options.policies) : (host.options.policies ?? []);
  const asked = {
    policies,
    ...(!options.default && { defaultPolicies: false }),
    ...(options.since && { since: options.since }),
    ...(options.intent && { intent_type: options.intent }),
    ...(options.workflow && { workflow_id: options.workflow }),
  };
  await withKernel(session, async ({ kernel, caller }) => {
    const began = terminal.now();
    const report = await show(kernel.whatIf(asked, caller), session);
    terminal.complain(describeSpeed(report, terminal.now() - began));
  });
}

async function show(
  found: AsyncGenerator<WhatIfFinding, WhatIfReport, void>,
  session: Session<WhatIfOptions>,
): Promise<WhatIfReport> {
  const { options, terminal } = session;
  const { report, kept } = await readFound(found, session, options.limit);
  if (!options.json) terminal.print(renderReport(report, kept, terminal));
  return report;
}

export function renderReport(report: WhatIfReport, rows: readonly WhatIfFinding[], terminal: Terminal): string {
  const { workflows, decisions, differing, unknown, policy_version, changes } = report;
  const hidden = differing + unknown - rows.length;
  const lines = [
    ...(rows.length === 0 ? [] : [renderTable(rows, columnsFor(terminal), terminal), ""]),
    ...(hidden > 0 ? [`and ${hidden} more (--limit, or --json for all)`] : []),
    `${differing} of ${decisions} decisions in ${workflows} workflows would differ under ${showLine(policy_version)}`,
    ...Object.entries(changes).map(([change, n]) => `  ${n}  ${showLine(change)}`),
    ...(unknown === 0 ? [] : [`${unknown} cannot be told`]),
  ];
  return lines.join("\n");
}

const columnsFor = ({ now }: Terminal): readonly Column<WhatIfFinding>[] => [
  { title: "WORKFLOW", value: (row) => row.workflow_id },
  { title: "WHEN", value: (row) => describeTime(row.timestamp, now()) },
  { title: "STAGE", value: (row) => row.stage },
  { title: "SUBJECT", value: (row) => row.step_id ?? row.subject, shrinks: true },
  { title: "WAS", value: (row) => row.was.decision, shrinks: true, labelled: true },
  { title: "WOULD BE", value: (row) => row.would_be?.decision ?? "unknown", shrinks: true, labelled: true },
  { title: "REASON", value: (row) => row.would_be?.reason ?? row.reason, shrinks: true },
];

const describeSpeed = ({ workflows, decisions }: WhatIfReport, ms: number): string => {
  const rate = Math.round((1000 * workflows) / Math.max(ms, 1));
  return `${workflows} workflows, ${decisions} decisions in ${(ms / 1000).toFixed(2)} s: ${rate} workflows a second`;
};
