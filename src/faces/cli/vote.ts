/**
 * `withdraw`, `delegate`, `comment`, `assign`, `snooze` and `watch`: the commands at a gate beside deciding it, and the
 * description of votes.
 */
import type { Command } from "commander";
import type { GateResponse } from "../../contract/gate.ts";
import type { GateNoteRequest } from "../../contract/gate-conversation.ts";
import type { GateTally } from "../../contract/gate-vote.ts";
import { describeParts } from "../../protocol/describe-parts.ts";
import { withKernel } from "./open-kernel.ts";
import { addCommonOptions, type CommonOptions, readId, readInstant, type Session } from "./options.ts";
import { showResult } from "./show-result.ts";
import type { Terminal } from "./terminal.ts";

interface DelegateOptions extends CommonOptions {
  readonly to: string | number;
  readonly until: string;
}

interface AtGate {
  readonly workflowId: string;
  readonly gateId: string | undefined;
}

export function addVotes(program: Command, terminal: Terminal): void {
  addAtGate(program, "withdraw")
    .description("take back a vote while its gate is open")
    .action((workflowId: string, gateId: string | undefined, options: CommonOptions) =>
      withdraw({ workflowId, gateId }, { options, terminal }),
    );
  addAtGate(program, "delegate")
    .description("lend one's seat at a gate to somebody else for a time")
    .requiredOption("--to <id>", "the user who votes in one's place", readId)
    .requiredOption("--until <instant>", "when it ends, as in 2026-12-31T18:00:00Z", readInstant)
    .action((workflowId: string, gateId: string | undefined, options: DelegateOptions) =>
      delegate({ workflowId, gateId }, { options, terminal }),
    );
  addNotes(program, terminal);
}

interface CommentOptions extends CommonOptions {
  readonly mention: readonly (string | number)[];
  readonly ask?: boolean;
}

/** Adds the commands that note something at a gate and decide nothing. */
function addNotes(program: Command, terminal: Terminal): void {
  addAtGate(program, "comment")
    .description("comment on an open gate, or ask those who want the work, without deciding it")
    .requiredOption("--text <text>", "the comment")
    .option(
      "--mention <id>",
      "a user who is told of it (repeatable)",
      (id: string, all: readonly (string | number)[]) => [...all, readId(id)],
      [] as readonly (string | number)[],
    )
    .option("--ask", "it is a question to those who asked for the work")
    .action((workflowId: string, gateId: string | undefined, options: CommentOptions & { readonly text: string }) => {
      const { text, mention, ask: asks = false } = options;
      const comment = { text, mentions: mention.map((id) => ({ id })), asks };
      return note({ workflowId, gateId }, { options, terminal }, { comment });
    });
  addAtGate(program, "assign")
    .description("say who looks after an open gate; without --to nobody does any more")
    .option("--to <id>", "the user who looks after it", readId)
    .action((workflowId: string, gateId: string | undefined, options: CommonOptions & { to?: string | number }) =>
      note(
        { workflowId, gateId },
        { options, terminal },
        { assign: options.to === undefined ? null : { id: options.to } },
      ),
    );
  addAtGate(program, "snooze")
    .description("hide an open gate from one's own list for a time; without --until it is shown again")
    .option("--until <instant>", "when it is shown again, as in 2026-12-31T18:00:00Z", readInstant)
    .action((workflowId: string, gateId: string | undefined, options: CommonOptions & { until?: string }) =>
      note({ workflowId, gateId }, { options, terminal }, { snooze: options.until ?? null }),
    );
  addAtGate(program, "watch")
    .description("be told of all that happens at an open gate")
    .option("--end", "not any more")
    .action((workflowId: string, gateId: string | undefined, options: CommonOptions & { end?: boolean }) =>
      note({ workflowId, gateId }, { options, terminal }, { watch: options.end !== true }),
    );
}

type Note = Pick<GateNoteRequest, "comment" | "assign" | "snooze" | "watch">;

function note({ workflowId, gateId }: AtGate, session: Session, noted: Note): Promise<void> {
  return withKernel(session, async ({ kernel, caller }) => {
    const named = gateId === undefined ? {} : { gate_id: gateId };
    const answer = await kernel.noteGate(workflowId, { ...caller, ...named, ...noted });
    if (!session.options.json) session.terminal.print("noted");
    showResult(session, await kernel.workflow(workflowId, caller), { answer });
  });
}

const addAtGate = (program: Command, name: string): Command =>
  addCommonOptions(program.command(name))
    .argument("<workflow>", "its id")
    .argument("[gate]", "its id; not needed where one gate is open");

function withdraw({ workflowId, gateId }: AtGate, session: Session): Promise<void> {
  return withKernel(session, async ({ kernel, caller }) => {
    const named = gateId === undefined ? {} : { gate_id: gateId };
    const answer = await kernel.withdrawVote(workflowId, { ...caller, ...named });
    showAnswer(session, answer);
    showResult(session, await kernel.workflow(workflowId, caller), { answer });
  });
}

function delegate({ workflowId, gateId }: AtGate, session: Session<DelegateOptions>): Promise<void> {
  const { to, until } = session.options;
  return withKernel(session, async ({ kernel, caller }) => {
    const named = gateId === undefined ? {} : { gate_id: gateId };
    const answer = await kernel.delegateGate(workflowId, { ...caller, ...named, to: { id: to }, expires_at: until });
    showAnswer(session, answer);
    showResult(session, await kernel.workflow(workflowId, caller), { answer });
  });
}

/** Prints the votes of the gate after a command; with --json the answer is in the document. */
export function showAnswer({ terminal, options }: Session, { status, tally }: GateResponse): void {
  if (options.json || tally === undefined) return;
  terminal.print(describeTally(status, tally));
}

export function describeTally(status: string, tally: GateTally): string {
  const { approvals, rejections, needed, missing = [], stage } = tally;
  const of = (count: number, takes: number | undefined): string =>
    takes === undefined ? `${count}` : `${count} of ${takes}`;
  const lack = missing.length === 0 ? "" : `; still to come: ${describeParts(missing)}`;
  const counts = [`${of(approvals, needed?.approvals)} to approve`, `${of(rejections, needed?.rejections)} to reject`];
  const within = stage === undefined ? "" : `stage ${stage}, `;
  return `${status}: ${within}${counts.join(", ")}${lack}`;
}
