/**
 * Evaluation reports: the kernel does not interpret them, and keeps them in the tenant's ledger as documents of their
 * workflow, so that they share storage with the events and the audit, and are exported with them (RLH-05).
 */
import type { Caller } from "../contract/auth-context.ts";
import { DocumentRecord } from "../contract/context-bundle.ts";
import { digest } from "../contract/digest.ts";
import { raise } from "../contract/error.ts";
import { kernelError } from "../contract/error-codes.ts";
import { draft } from "../contract/event.ts";
import type { Json } from "../contract/json.ts";
import { moduleRef } from "../contract/module-ref.ts";
import type { Runtime } from "../engine/actors/runtime.ts";
import { takeJson } from "../engine/actors/take-json.ts";
import type { LedgerReading } from "../engine/follow/ledger-reader.ts";
import type { TenantAppend } from "../engine/log/tenant-log.ts";
import type { LedgerStore } from "../ports/ledger-store.ts";
import type { Gateway } from "../tiers/t0-foundation/gateway.ts";
import type { EvaluationReport } from "../tiers/t6-metacognition/compose-evidence.ts";

const reportRef = moduleRef(6, "evaluation", "attach");
const idOf = (workflowId: string, n: number): string => `evaluation:${workflowId}:${n}`;

interface ReportParts {
  readonly store: LedgerStore;
  readonly reading: LedgerReading;
  readonly runtime: Runtime;
  readonly tenantLog: TenantAppend;
  readonly gateway: Gateway;
}

export async function attachReport(
  { store, reading, runtime, tenantLog, gateway }: ReportParts,
  workflowId: string,
  { report, caller }: { readonly report: unknown; readonly caller: Caller | undefined },
): Promise<string> {
  const { maxReports, maxRequestChars } = runtime.limits;
  const content = copyReport(report);
  const bytes = JSON.stringify(content).length;
  if (bytes > maxRequestChars) refuseSize(`the report exceeds limits.maxRequestChars = ${maxRequestChars}`);
  await gateway.authorize(caller, "evaluation:write");
  const { tenant_id, workflow_id } = await reading.readWorkflowState(workflowId, caller);
  const decide = async () => {
    const standing = await readReports(store, { tenant_id, workflow_id, limit: maxReports });
    if (standing.length >= maxReports) refuseSize(`the workflow has limits.maxReports = ${maxReports} reports`);
    const record = DocumentRecord.parse({
      tenant_id,
      workflow_id,
      document_id: idOf(workflow_id, standing.length + 1),
      title: "evaluation report",
      media_type: "application/json",
      processed_content: { hash: digest(content), bytes },
      content,
    });
    const answer = String(record.document_id);
    return { drafts: [draft("DOCUMENT_RECORDED", { record })], answer };
  };
  return (await tenantLog(tenant_id, decide, caller?.principal)).answer;
}

/** Returns the reports of a workflow, oldest first. */
export async function readReports(
  store: LedgerStore,
  of: { readonly tenant_id: string | number; readonly workflow_id: string; readonly limit: number },
): Promise<readonly EvaluationReport[]> {
  const ids = Array.from({ length: of.limit }, (_, i) => idOf(of.workflow_id, i + 1));
  const found = await store.documents(of.tenant_id, ids);
  return found.map(({ document_id, content }) => ({ report_id: String(document_id), report: content ?? null }));
}

/** Reports that are brought along; they are kept nowhere but in the export. */
export const numberReports = (reports: readonly unknown[]): readonly EvaluationReport[] =>
  reports.map((report, i) => ({ report_id: `given:${i + 1}`, report: copyReport(report) }));

const copyReport = (report: unknown): Json => takeJson(report, { what: "report", source: reportRef });

const refuseSize = (message: string): never =>
  raise(kernelError("T0_VALIDATION_PAYLOAD_TOO_LARGE", message, reportRef));
