/**
 * `doctor`: which workflows that have not ended cannot run with the packages that are loaded. Only reads.
 *
 * 1.  Exit 0 where all can run, 1 where one cannot: a deployment asks before it replaces what runs.
 */
import type { Command } from "commander";
import { raise } from "../../contract/error.ts";
import { kernelError } from "../../contract/error-codes.ts";
import { moduleRef } from "../../contract/module-ref.ts";
import type { PresentingFinding } from "../../contract/presenting-finding.ts";
import type { DoctorFinding, DoctorReport, Obstacle } from "../../index.ts";
import { showLine } from "../../protocol/visible-text.ts";
import { withKernel } from "./open-kernel.ts";
import { addCommonOptions, type CommonOptions, readCount, type Session } from "./options.ts";
import { readFound } from "./read-found.ts";
import { commandLine } from "./show-result.ts";
import type { Terminal } from "./terminal.ts";

interface DoctorOptions extends CommonOptions {
  readonly intent?: string;
  readonly limit: number;
}

export function addDoctor(program: Command, terminal: Terminal): void {
  addCommonOptions(program.command("doctor"))
    .description(
      "list the workflows that have not ended and that the loaded packages cannot run, and what people would see badly",
    )
    .argument("[workflow]", "its id; without it all of them")
    .option("--intent <type>", "only workflows of this intent type")
    .option("--limit <n>", "show at most so many; all are counted", readCount, 50)
    .action((workflowId: string | undefined, options: DoctorOptions) => examine(workflowId, { options, terminal }));
}

async function examine(workflowId: string | undefined, session: Session<DoctorOptions>): Promise<void> {
  const { options, terminal } = session;
  const asked = {
    ...(workflowId !== undefined && { workflow_id: workflowId }),
    ...(options.intent !== undefined && { intent_type: options.intent }),
  };
  const { report, kept } = await withKernel(session, ({ kernel, caller }) =>
    readFound(kernel.doctor(asked, caller), session, options.limit),
  );
  if (!options.json) terminal.print(renderReport(report, kept, session));
  if (!report.ok) refuseStranded(report);
}

const refuseStranded = ({ stranded, workflows }: DoctorReport): never =>
  raise(
    kernelError(
      "T4_WORKFLOW_STRANDED",
      `${stranded} of ${workflows} workflows that have not ended cannot run with the packages that are loaded`,
      moduleRef(0, "cli", "doctor"),
      { detail: { stranded, workflows } },
    ),
  );

function renderReport(
  { ok, workflows, stranded, presenting }: DoctorReport,
  findings: readonly DoctorFinding[],
  session: Session,
): string {
  const hidden = stranded - findings.length;
  const lines = [
    ...findings.flatMap((finding) => [...renderFinding(finding, session), ""]),
    ...(hidden > 0 ? [`and ${hidden} more (--limit, or --json for all)`] : []),
    ...(ok ? [`all that has not ended can run (${workflows})`] : []),
    ...(presenting.length > 0 ? ["", "what people would see badly:", ...presenting.map(renderPresenting)] : []),
  ];
  return lines.join("\n").trimEnd();
}

const renderPresenting = ({ definition, name, version, reason, next }: PresentingFinding): string =>
  `  ${definition} ${showLine(name)}${version === "" ? "" : `@${showLine(version)}`}: ${showLine(reason)}. ${next}.`;

function renderFinding(
  { workflow_id, intent_type, version, state, ...found }: DoctorFinding,
  session: Session,
): string[] {
  const { obstacles, done, remedies } = found;
  return [
    `${workflow_id}  ${showLine(intent_type)}@${showLine(version)}  ${state}`,
    ...obstacles.map((one) => `  cannot run: ${showLine(one.reason)}${describeRegistered(one)}`),
    ...done.map(
      (one) => `  took effect: step ${one.step_id}, ${showLine(one.operator)}@${showLine(one.operator_version)}`,
    ),
    ...remedies.map(({ kind, what }) => `  ${kind}: ${showLine(what)}${describeCommand(kind, workflow_id, session)}`),
  ];
}

const describeRegistered = ({ registered }: Obstacle): string =>
  registered.length === 0 ? "" : ` (registered: ${registered.map(showLine).join(", ")})`;

function describeCommand(kind: string, workflowId: string, session: Session): string {
  if (kind === "migrate") return `: ${commandLine(session.options, "retry", workflowId, "--mode", "migrate")}`;
  return kind === "end" ? `: ${commandLine(session.options, "cancel", workflowId)}` : "";
}
