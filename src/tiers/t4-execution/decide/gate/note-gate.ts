/**
 * Notes at an open gate that decide nothing: comments, who looks after it, and who wants to hear of it.
 *
 * 1.  A note that is decided again (after a lost lease) is noted once: a comment by its id, all else by what stands.
 * 2.  The comments of a gate, its snoozes and its watchers are as many as `limits.maxGateEntries` each.
 */
import { isSamePrincipal } from "../../../../../machines/quorum.ts";
import { sha256 } from "../../../../contract/digest.ts";
import { draft } from "../../../../contract/event.ts";
import type { Gate, GateResponse } from "../../../../contract/gate.ts";
import { refOf } from "../../../../contract/gate-vote.ts";
import type { GateCommand } from "../run/input.ts";
import { requireRoom } from "../run/refuse-at-gate.ts";
import type { Run } from "../run/run.ts";
import { requireOpen } from "./delegate-gate.ts";
import { respond } from "./judge-gate.ts";

type NoteCommand = Extract<GateCommand, { readonly kind: "note" }>;

/**
 * Notes what the request says. @throws KernelErrorException T5_GATE_NOT_FOUND, T5_GATE_CONFLICT, T5_GATE_UNNAMED,
 * T5_GATE_FULL.
 */
export function noteGate(run: Run, { request, note_id }: NoteCommand): GateResponse {
  const gate = requireOpen(run, request.gate_id);
  noteComment(run, gate, { request, note_id });
  noteAssignment(run, gate, request);
  noteSnooze(run, gate, request);
  noteWatching(run, gate, request);
  return respond(run, gate.gate_id, "noted");
}

type Request = NoteCommand["request"];

function noteComment(run: Run, gate: Gate, { request, note_id }: Pick<NoteCommand, "request" | "note_id">): void {
  const { comment, principal } = request;
  const { gate_id, step_id, conversation } = gate;
  const standing = conversation?.comments ?? [];
  const comment_id = commentIdOf(request) ?? note_id;
  if (comment === undefined || standing.some((one) => one.comment_id === comment_id)) return;
  requireRoom(run, gate_id, standing);
  const { text, mentions, asks } = comment;
  const marks = { ...(mentions.length > 0 && { mentions: mentions.map(refOf) }), ...(asks && { asks: true as const }) };
  const noted = { gate_id, comment_id, principal, text, ...marks };
  run.log.noteBy(refOf(principal), draft("GATE_COMMENTED", noted, step_id));
}

/** Returns the id of a comment with a key, the same for the same key of its principal; null for one without a key. */
function commentIdOf({ principal, idempotency_key: key }: Request): string | null {
  if (key === undefined) return null;
  const { type, id } = principal;
  return `cmt_${sha256(JSON.stringify([type, id, key])).slice(0, 32)}`;
}

function noteAssignment(run: Run, { gate_id, step_id, conversation }: Gate, { assign, principal }: Request): void {
  if (assign === undefined) return;
  const to = assign === null ? null : refOf(assign);
  const standing = conversation?.assigned_to ?? null;
  const isSame = to === null ? standing === null : standing !== null && isSamePrincipal(standing, to);
  if (!isSame) run.log.noteBy(refOf(principal), draft("GATE_ASSIGNED", { gate_id, principal, to }, step_id));
}

function noteSnooze(run: Run, { gate_id, step_id, conversation }: Gate, { snooze: until, principal }: Request): void {
  if (until === undefined) return;
  const snoozed = conversation?.snoozed ?? [];
  const own = snoozed.find(({ by }) => isSamePrincipal(by, principal));
  if ((own?.until ?? null) === until) return;
  if (own === undefined) requireRoom(run, gate_id, snoozed);
  run.log.noteBy(refOf(principal), draft("GATE_SNOOZED", { gate_id, principal, until }, step_id));
}

function noteWatching(run: Run, { gate_id, step_id, conversation }: Gate, { watch, principal }: Request): void {
  if (watch === undefined) return;
  const watchers = conversation?.watchers ?? [];
  if (watchers.some((one) => isSamePrincipal(one, principal)) === watch) return;
  if (watch) requireRoom(run, gate_id, watchers);
  run.log.noteBy(refOf(principal), draft("GATE_WATCHED", { gate_id, principal, watching: watch }, step_id));
}
