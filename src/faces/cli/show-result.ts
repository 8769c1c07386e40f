/**
 * The end of commands that move a workflow: they wait for its next rest, show it, and say what is left to do.
 *
 * 1.  A failed workflow is shown on stdout, and its error ends the command (exit 1).
 * 2.  With --json the document is the workflow's state together with the command's own fields.
 */
import { raise } from "../../contract/error.ts";
import { type Gate, isOpenGate } from "../../contract/gate.ts";
import type { WorkflowState } from "../../contract/workflow-state.ts";
import { showLine } from "../../protocol/visible-text.ts";
import { ledgerAsTyped } from "./choose-ledger.ts";
import { fileAsTyped, invocation } from "./invocation.ts";
import { type CommonOptions, ledgerNamed, type Session } from "./options.ts";
import { quoteWord, toJsonText } from "./render-text.ts";
import { renderWorkflow } from "./render-workflow.ts";

export const printJson = ({ terminal }: Session, value: unknown): void => terminal.print(toJsonText(value, 2));

/** Shows a workflow at rest; `fields` are added to the JSON document only. */
export function showResult(session: Session, state: WorkflowState, fields: object = {}): void {
  const { terminal, options } = session;
  if (options.json) printJson(session, { ...state, ...fields });
  else {
    terminal.print(renderWorkflow(state, terminal));
    for (const gate of openGatesOf(state)) terminal.print(describeGate(gate, options));
  }
  failIfFailed(state);
}

export function failIfFailed({ state, error }: WorkflowState): void {
  if (state === "failed" && error !== null) raise(error);
}

export const openGatesOf = ({ gates }: WorkflowState): readonly Gate[] => gates.filter(isOpenGate);

const describeGate = (gate: Gate, options: CommonOptions): string =>
  [
    `waiting at ${showLine(gate.gate_id)}. Look:  ${commandLine(options, "show", gate.workflow_id)}`,
    `Approve:  ${decideLine(options, "approve", gate)}`,
    `Reject:   ${decideLine(options, "reject", gate)}`,
  ].join("\n  ");

/** Sets the message that is printed if the program is interrupted while a workflow is being moved. */
export function promiseSafety({ terminal, options }: Session, workflowId: string): void {
  const go = commandLine(options, "resume", workflowId);
  terminal.safety.tell = `What was decided and done is in the ledger, and nothing is done twice. Go on:\n  ${go}`;
}

/** Describes a decision and its result in lines that fit a narrow terminal. */
export const describeDecided = (
  { title, gate_id, workflow_id, operator, payload_digest }: Gate,
  verdict: string,
): string =>
  [
    `${showLine(title)}  ${showLine(gate_id)}`,
    `  of ${showLine(workflow_id)}`,
    `  ${verdict}: ${showLine(operator)}, payload ${payload_digest.slice(0, 12)}`,
  ].join("\n");

/** Returns the command that decides on the payload that was shown here, and on no later one. */
export function decideLine(
  options: CommonOptions,
  word: "approve" | "reject",
  { kind, workflow_id, gate_id, payload_digest, basis_digest }: Gate,
): string {
  const basis = basis_digest === undefined ? [] : ["--basis", basis_digest];
  const answers = { approval: [], in_doubt: ["--resolution", "done"], ask: ["--answer", "JSON"] };
  const settled = word === "approve" ? answers[kind] : [];
  return commandLine(options, word, workflow_id, gate_id, "--digest", payload_digest, ...basis, ...settled);
}

/** Returns a command as a person would type it to act on the same ledger as the same caller. */
export const commandLine = (options: CommonOptions, ...words: readonly string[]): string =>
  [invocation(), ...[...words, ...flagsOf(options)].map(quoteWord)].join(" ");

/** Returns the options that name the ledger, the packages and the caller, as words of a command. */
export function flagsOf(options: CommonOptions): readonly string[] {
  const { host, capabilities, policies, tenant, principal, role, keys } = options;
  return [
    ...(options.db === undefined && host !== undefined ? [] : ["--db", ledgerAsTyped(ledgerNamed(options))]),
    ...(host === undefined ? [] : ["--host", fileAsTyped(host)]),
    ...capabilities.flatMap((module) => ["--capabilities", module]),
    ...policies.flatMap((file) => ["--policies", fileAsTyped(file)]),
    ...(tenant === 1 ? [] : ["--tenant", String(tenant)]),
    ...(principal === "local" ? [] : ["--principal", String(principal)]),
    ...(role === "user" ? [] : ["--role", role]),
    ...(keys === undefined ? [] : ["--keys", fileAsTyped(keys)]),
  ];
}
