/**
 * `verify`: checks the hash chain of a ledger, of one workflow, or of an export without any ledger.
 *
 * INV-1  The first broken entry of a stream is named by stream and sequence; a broken chain ends with exit 1.
 * INV-2  The file check opens no ledger and runs nothing: only the rows, `verifyChain` and the signatures in them.
 * Limits: rows missing at the end of an export leave a sound chain; compare `heads` with the ledger's.
 */
import { createReadStream, statSync } from "node:fs";
import { createInterface } from "node:readline";
import type { Command } from "commander";
import { createSignatureAudit, type SignatureCheck } from "../adapters/verify-signatures.ts";
import { raise } from "../contract/error.ts";
import { kernelError } from "../contract/error-codes.ts";
import { moduleRef } from "../contract/module-ref.ts";
import { type TurnRow, verifyChain } from "../contract/turn.ts";
import { readApproverKeys } from "./approver-keys.ts";
import { withKernel } from "./open-kernel.ts";
import { addCommonOptions, type CommonOptions, type Session } from "./options.ts";
import { UsageError } from "./report-error.ts";
import { printJson } from "./show-result.ts";
import type { Terminal } from "./terminal.ts";

interface VerifyOptions extends CommonOptions {
  readonly file?: string;
}

/** The last link of a stream: what a shortened copy lacks. */
export interface ChainHead {
  readonly stream: string;
  readonly sequence: number;
  readonly hash: string;
}

export interface Verdict {
  readonly ok: boolean;
  /** Rows looked at. */
  readonly checked: number;
  readonly broken: readonly { readonly stream: string; readonly sequence: number; readonly reason: string }[];
  readonly heads?: readonly ChainHead[];
}

export function addVerify(program: Command, terminal: Terminal): void {
  addCommonOptions(program.command("verify"))
    .description("check the hash chain and the signed approvals of the ledger, of a workflow, or of an export")
    .argument("[workflow]", "its id; without it the whole ledger or file")
    .option("--file <export>", "check these JSON Lines, as `export` writes them, without a ledger")
    .action((workflowId: string | undefined, options: VerifyOptions) => verify(workflowId, { options, terminal }));
}

async function verify(workflowId: string | undefined, session: Session<VerifyOptions>): Promise<void> {
  const { options, terminal } = session;
  const verdict =
    options.file === undefined
      ? await verifyLedger(workflowId, session)
      : await verifyFile(options.file, workflowId, checkOf(options));
  if (options.json) printJson(session, verdict);
  else terminal.print(renderVerdict(verdict, terminal));
  if (!verdict.ok) refuseBroken(verdict);
}

function verifyLedger(workflowId: string | undefined, session: Session): Promise<Verdict> {
  return withKernel(session, async ({ kernel, caller }) => {
    if (workflowId !== undefined) await kernel.workflow(workflowId, caller);
    return kernel.verify(workflowId, checkOf(session.options));
  });
}

/** With `--keys` a signature also has to be of one of the approver's keys. */
const checkOf = ({ keys }: VerifyOptions): SignatureCheck =>
  keys === undefined ? {} : { keys: readApproverKeys(keys) };

async function verifyFile(path: string, workflowId: string | undefined, check: SignatureCheck): Promise<Verdict> {
  if (statSync(path, { throwIfNoEntry: false })?.isFile() !== true) throw new UsageError(`${path} is not a file`);
  const lines = createInterface({ input: createReadStream(path), crlfDelay: Number.POSITIVE_INFINITY });
  const verdict = await verifyLines(lines, workflowId, check);
  if (verdict.checked === 0)
    throw new UsageError(`${path} holds no row${workflowId === undefined ? "" : ` of ${workflowId}`}`);
  return verdict;
}

/** Rows of any number of streams, mixed, each stream in its order. */
export async function verifyLines(
  lines: AsyncIterable<string>,
  workflowId?: string,
  check: SignatureCheck = {},
): Promise<Verdict> {
  const streams = new Map<string, TurnRow[]>();
  const broken: Verdict["broken"][number][] = [];
  let checked = 0;
  for await (const line of lines) {
    if (line.trim() === "") continue;
    const row = readRow(line);
    if (row !== null && workflowId !== undefined && row.stream !== workflowId) continue;
    checked += 1;
    if (row === null) broken.push({ stream: "(unreadable)", sequence: checked, reason: "format" });
    else streams.set(row.stream, [...(streams.get(row.stream) ?? []), row]);
  }
  const chains = [...streams.values()];
  const audit = createSignatureAudit(check);
  for (const rows of chains) {
    const found = verifyChain(rows);
    if (found === null) rows.forEach(audit.see);
    else broken.push(found);
  }
  broken.push(...(await audit.end()));
  return { ok: broken.length === 0, checked, broken, heads: chains.map((rows) => headOf(rows.at(-1)!)) };
}

const headOf = ({ stream, last_sequence, hash }: TurnRow): ChainHead => ({ stream, sequence: last_sequence, hash });

function readRow(line: string): TurnRow | null {
  try {
    const row: unknown = JSON.parse(line);
    return typeof row === "object" && row !== null && "stream" in row && typeof row.stream === "string"
      ? (row as TurnRow)
      : null;
  } catch {
    return null;
  }
}

export function renderVerdict(
  { ok, checked, broken, heads = [] }: Verdict,
  { paint }: Pick<Terminal, "paint">,
): string {
  const head = ok
    ? paint("green", `sound: ${checked} entries checked`)
    : paint("red", `broken: ${broken.length} of the chains checked`);
  const breaks = broken.map(
    ({ stream, sequence, reason }) => `  ${stream} at sequence ${sequence}: ${tellBreak(reason)}`,
  );
  const ends = heads.map(({ stream, sequence, hash }) => `  ${stream} up to ${sequence}, head ${hash}`);
  return [head, ...(ok ? ends : breaks)].join("\n");
}

const meanings: Readonly<Record<string, string>> = {
  hash: "the hash does not fit the entry",
  body: "the body is not the one that was hashed",
  link: "the entry does not follow the one before it",
  sequence: "the numbering has a gap or a wrong number",
  format: "the entry cannot be read",
  signature: "a decision's signature is missing or not good",
};

const tellBreak = (reason: string): string => (reason in meanings ? `${reason}, ${meanings[reason]}` : reason);

function refuseBroken({ broken }: Verdict): never {
  const [first] = broken;
  const message = `the chain is broken, first in ${first?.stream} at sequence ${first?.sequence} (${first?.reason})`;
  return raise(kernelError("T0_LEDGER_CORRUPT", message, moduleRef(0, "cli", "verify"), { detail: { broken } }));
}
