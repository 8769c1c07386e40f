/**
 * `verify`: checks the hash chains of a ledger, of one workflow, or of an export without a ledger.
 *
 * 1.  The first broken entry is named by line, stream and sequence; a broken chain ends with exit 1.
 * 2.  The check of a file opens no ledger and runs nothing: it calls `verifyEvidence` on the file's lines.
 */
import type { Command } from "commander";
import type { SignatureCheck } from "../../adapters/verify-signatures.ts";
import { raise } from "../../contract/error.ts";
import { kernelError } from "../../contract/error-codes.ts";
import { moduleRef } from "../../contract/module-ref.ts";
import type { EvidenceVerdict, IndexBreak } from "../../index.ts";
import { showLine } from "../../protocol/visible-text.ts";
import { readApproverKeys } from "./approver-keys.ts";
import { withKernel } from "./open-kernel.ts";
import { addCommonOptions, type CommonOptions, type Session } from "./options.ts";
import { readFileLines } from "./read-lines.ts";
import { UsageError } from "./report-error.ts";
import { printJson } from "./show-result.ts";
import type { Terminal } from "./terminal.ts";

interface VerifyOptions extends CommonOptions {
  readonly import?: string;
}

/** The result of a check, of a ledger and of an export alike. */
interface Verdict extends Partial<Omit<EvidenceVerdict, "broken">> {
  readonly ok: boolean;
  readonly checked: number;
  readonly broken: readonly Break[];
}

interface Break {
  readonly line?: number;
  readonly stream: string;
  readonly sequence: number;
  readonly reason: string;
  readonly index?: IndexBreak;
}

export function addVerify(program: Command, terminal: Terminal): void {
  addCommonOptions(program.command("verify"))
    .description("check the hash chain and the signed approvals of the ledger, of a workflow, or of an export")
    .addHelpText("after", "\nThe guide's page ledger-format.md has verifiers that check the chain without Countersign.")
    .argument("[workflow]", "its id; without it the whole ledger or file")
    .option("--import <file>", "check the JSON Lines of this file, as `export` writes them, without a ledger")
    .action((workflowId: string | undefined, options: VerifyOptions) => verify(workflowId, { options, terminal }));
}

async function verify(workflowId: string | undefined, session: Session<VerifyOptions>): Promise<void> {
  const { options, terminal } = session;
  const verdict: Verdict =
    options.import === undefined
      ? await verifyLedger(workflowId, session)
      : await verifyFile(options.import, workflowId, session);
  if (options.json) printJson(session, verdict);
  else terminal.print(renderVerdict(verdict, terminal));
  if (!verdict.ok) refuseBroken(verdict);
}

function verifyLedger(workflowId: string | undefined, session: Session): Promise<Verdict> {
  // A check of the whole ledger is for its host only, so it is made without a caller.
  return withKernel(session, ({ kernel, caller }) =>
    kernel.verify(workflowId, checkOf(session.options), workflowId === undefined ? undefined : caller),
  );
}

/** Returns the options of the signature check. With `--keys`, a signature must be by one of the approver's keys. */
const checkOf = ({ keys }: VerifyOptions): SignatureCheck =>
  keys === undefined ? {} : { keys: readApproverKeys(keys) };

async function verifyFile(
  path: string,
  workflowId: string | undefined,
  { options, terminal: { signal } }: Session,
): Promise<Verdict> {
  const { verifyEvidence } = await import("../../index.ts");
  const verdict = await verifyEvidence(readFileLines(path, signal), { stream: workflowId, ...checkOf(options) });
  if (verdict.checked === 0)
    throw new UsageError(`${path} holds no row${workflowId === undefined ? "" : ` of ${workflowId}`}`);
  return verdict;
}

export function renderVerdict(
  { ok, checked, broken, heads = [], evidence = [] }: Verdict,
  { paint }: Pick<Terminal, "paint">,
): string {
  const head = ok
    ? paint("green", `sound: ${checked} entries checked`)
    : paint("red", `broken: ${broken.length} of what was checked`);
  const breaks = broken.map((found) => `${describePlace(found)}: ${describeBreak(found)}`);
  const ends = heads.map(({ stream, sequence, hash }) => `${stream} up to ${sequence}, head ${hash}`);
  const beside = evidence.map(
    ({ stream, audit_entries, reports }) => `${stream}: ${audit_entries} audit entries, ${reports} reports`,
  );
  return [head, ...(ok ? [...ends, ...beside] : breaks).map((line) => `  ${showLine(line)}`)].join("\n");
}

const describePlace = ({ line, stream, sequence, index }: Break): string => {
  const place = index === undefined ? `at sequence ${sequence}` : `in the index ${index.table}`;
  return `${line === undefined ? "" : `line ${line}, `}${stream} ${place}`;
};

const meanings: Readonly<Record<string, string>> = {
  hash: "the hash does not fit the entry",
  body: "the body is not the one that was hashed",
  missing: "the body is missing, and no event says that it was erased",
  spelling: "the JSON of the entry is not spelled as the kernel spells it",
  link: "the entry does not follow the one before it",
  sequence: "the numbering has a gap or a wrong number",
  format: "the entry cannot be read",
  fold: "the entry can be read, and its events give no state of the workflow",
  index: "the index does not say what the log does",
  audit: "the audit is not what the events say",
  signature: "a decision's signature is missing or not good, or the call is not what was approved",
  closing: "the export does not end as it was closed",
  cut: "the file stops here, without the end that an export names",
};

const describeBreak = ({ reason, index }: Break): string => {
  const meaning = reason in meanings ? `${reason}, ${meanings[reason]}` : reason;
  if (index === undefined) return meaning;
  const { wrong, key, columns } = index;
  return `${meaning}: ${[wrong, ...columns].join(" ")} ${JSON.stringify(key)}`;
};

function refuseBroken({ broken }: Verdict): never {
  const [first] = broken as readonly [Break];
  const what =
    first.index === undefined ? "the chain is broken, first at" : "the log is sound, and not its indexes, first";
  const message = `${what} ${describePlace(first)} (${first.reason})`;
  return raise(kernelError("T0_LEDGER_CORRUPT", message, moduleRef(0, "cli", "verify"), { detail: { broken } }));
}
