/**
 * The review pipeline by itself: interactions are judged by their policies and their score, what is doubtful is queued
 * for a reviewer, and every step is an audit entry (RLH-01, RLH-02). In a kernel the ledger keeps the same records
 * (project-audit.ts).
 *
 * 1.  The log only grows, in order; entries are frozen.
 * 2.  A measured score beats a claimed one; where a threshold is set, no score at all is below it.
 * 3.  The next reviewer follows from the log alone, so that a pipeline that goes on from an export assigns as before.
 * 4.  A review is decided once, by whom it was assigned to or somebody of the same role.
 */
import { z } from "zod";
import { AuditEntry, type AuditOutcome } from "../contract/audit.ts";
import { genesisHash } from "../contract/chain.ts";
import { raise } from "../contract/error.ts";
import { type ErrorCode, kernelError } from "../contract/error-codes.ts";
import {
  type EvidenceContent,
  type EvidenceLine,
  followsEvidence,
  readEvidence,
  sealEvidence,
} from "../contract/evidence.ts";
import { deepFreeze, type Json } from "../contract/json.ts";
import { readStrictly } from "../contract/known-keys.ts";
import { moduleRef } from "../contract/module-ref.ts";
import { RuleAnswer } from "../contract/policy.ts";
import { takeJson } from "../engine/actors/take-json.ts";

const name = z.string().min(1).max(256);
const Reviewer = z.union([
  name.transform((id) => ({ id, role: null })),
  z.strictObject({ id: name, role: name }).transform((r): { id: string; role: string | null } => r),
]);
const score = z.number().min(0).max(1).optional();

/** A name alone is a policy that matched and allowed. */
const MatchedPolicy = z.union([
  name.transform((policy) => ({ name: policy, decision: "ALLOW" as const })),
  z.strictObject({ name, decision: RuleAnswer.shape.decision }),
]);

const Interaction = z.strictObject({
  interaction_id: name,
  /** The policies in evaluation order. */
  policies: z.array(MatchedPolicy).default([]),
  /** The policy that blocked it, if `policies` does not show it. */
  blocked_by: name.optional(),
  claimed_score: score,
  measured_score: score,
  /** The role of its reviewer, if reviewers are assigned by role; else the role of the first. */
  role: name.optional(),
});

const Options = z.strictObject({
  reviewers: z
    .array(Reviewer)
    .min(1)
    .refine((list) => new Set(list.map((r) => r.id)).size === list.length, "a reviewer is named twice")
    .refine((list) => !list.some(({ id }) => list.some(({ role }) => role === id)), "a reviewer is called like a role"),
  assign: z.enum(["round_robin", "role"]).default("round_robin"),
  threshold: z.number().min(0).max(1).nullable().default(null),
  log: z.string().default(""),
  maxEntries: z.int().positive().default(100_000),
});

/**
 * Reviewers are ids, or ids with a role. Below `threshold` (0 to 1) a person decides. `log`: an export to go on from.
 */
export type ReviewPipelineOptions = z.input<typeof Options>;
type Settings = z.output<typeof Options>;

/** Interactions that people review, with a log of what they said. */
export interface ReviewPipeline {
  readonly submit: (interaction: z.input<typeof Interaction>) => AuditEntry;
  readonly decide: (reviewId: string, reviewer: string, decision: "approve" | "reject") => AuditEntry;
  /** Keeps an evaluation report, any JSON, in the log; gives its id. */
  readonly attach: (report: unknown) => string;
  readonly log: () => readonly AuditEntry[];
  /** JSON Lines: entries and reports in order, chained by hash, and a closing line. */
  readonly export: () => string;
}

interface Review {
  readonly interaction_id: string;
  readonly reviewer: string;
  readonly policies: readonly string[];
  readonly decided: AuditEntry | null;
}

const pipelineRef = moduleRef(5, "review", "pipeline");
const stream = "review";
const refuse = (code: ErrorCode, message: string, detail = {}): never =>
  raise(kernelError(code, message, pipelineRef, { detail }));

/**
 * Creates a review pipeline.
 * @throws KernelErrorException, from it and from its functions: T0_VALIDATION_SCHEMA_MISMATCH, T0_LEDGER_CORRUPT for a
 * log that is not as it was exported, T5_REVIEWER_UNKNOWN, T5_REVIEW_NOT_FOUND, T5_REVIEW_CONFLICT, T5_AUTHZ_FORBIDDEN,
 * T0_VALIDATION_PAYLOAD_TOO_LARGE for a full log. Nothing is recorded then.
 */
export function createReviewPipeline(options: ReviewPipelineOptions): ReviewPipeline {
  const settings = parse(Options, options);
  const pipeline = new Pipeline(settings);
  return {
    submit: (interaction) => pipeline.submit(parse(Interaction, interaction)),
    decide: (reviewId, reviewer, decision) =>
      pipeline.decide(reviewId, reviewer, parse(z.enum(["approve", "reject"]), decision)),
    attach: (report) => pipeline.attach(takeJson(report, { what: "report", source: pipelineRef })),
    log: () => pipeline.entries(),
    export: () => pipeline.export(),
  };
}

class Pipeline {
  readonly #settings: Settings;
  readonly #lines: EvidenceLine[] = [];
  readonly #reviews = new Map<string, Review>();
  /** Interaction id → its review, or null. */
  readonly #submitted = new Map<string, string | null>();

  constructor(settings: Settings) {
    this.#settings = settings;
    for (const content of readLog(settings.log)) this.#add(content);
  }

  submit(interaction: z.output<typeof Interaction>): AuditEntry {
    const { interaction_id, policies } = interaction;
    if (this.#submitted.has(interaction_id))
      refuse("T5_REVIEW_CONFLICT", `interaction ${interaction_id} was submitted before`, { interaction_id });
    const outcome = this.#judge(interaction);
    return this.#addEntry({ interaction_id, outcome, policies: policies.map((p) => p.name) });
  }

  decide(reviewId: string, reviewer: string, decision: "approve" | "reject"): AuditEntry {
    const review =
      this.#reviews.get(reviewId) ??
      refuse("T5_REVIEW_NOT_FOUND", `there is no review ${reviewId}`, { review_id: reviewId });
    this.#requireReviewer(review, reviewer);
    const type = decision === "approve" ? "HumanApproved" : "HumanRejected";
    const { interaction_id, policies, decided } = review;
    if (decided?.outcome.type === type) return decided;
    if (decided !== null) refuse("T5_REVIEW_CONFLICT", `${reviewId} was decided otherwise`, { review_id: reviewId });
    return this.#addEntry({ interaction_id, outcome: { type }, policies: [...policies], decided_by: reviewer });
  }

  attach(report: Json): string {
    const reports = this.#lines.filter((line) => line.evidence === "evaluation_report").length;
    const report_id = `report-${reports + 1}`;
    this.#requireRoom();
    this.#add({ evidence: "evaluation_report", stream, report_id, report });
    return report_id;
  }

  entries(): readonly AuditEntry[] {
    return Object.freeze(this.#lines.flatMap((line) => (line.evidence === "audit_entry" ? [line.entry] : [])));
  }

  export(): string {
    const audit_entries = this.entries().length;
    const closing = {
      evidence: "closing",
      stream,
      rows: 0,
      audit_entries,
      reports: this.#lines.length - audit_entries,
      head: { sequence: 0, hash: genesisHash },
    } as const;
    const lines = [...this.#lines, sealEvidence(this.#lines.at(-1)?.hash ?? genesisHash, closing)];
    return lines.map((line) => `${JSON.stringify(line)}\n`).join("");
  }

  #judge(interaction: z.output<typeof Interaction>): AuditOutcome {
    const { policies, blocked_by, claimed_score, measured_score, role } = interaction;
    const { threshold } = this.#settings;
    const blocked = blocked_by ?? policies.find((p) => p.decision === "DENY")?.name;
    if (blocked !== undefined) return { type: "Blocked", policy: blocked };
    const isLow = threshold !== null && (measured_score ?? claimed_score ?? Number.NEGATIVE_INFINITY) < threshold;
    if (!isLow && policies.every((p) => p.decision !== "REQUIRE_HUMAN_APPROVAL")) return { type: "AutoApproved" };
    return {
      type: "QueuedForReview",
      review_id: `review-${this.#reviews.size + 1}`,
      reviewer: this.#nextReviewer(role),
    };
  }

  /** Returns the next reviewer, in rotation by the number of queued reviews; or the role. */
  #nextReviewer(wanted: string | undefined): string {
    const { reviewers, assign } = this.#settings;
    if (assign === "round_robin") return (reviewers[this.#reviews.size % reviewers.length] as { id: string }).id;
    const role = wanted ?? reviewers[0]?.role ?? null;
    if (role !== null && reviewers.some((r) => r.role === role)) return role;
    return refuse("T5_REVIEWER_UNKNOWN", `no reviewer has the role ${role}`, { role });
  }

  #requireReviewer({ reviewer: assigned }: Review, id: string): void {
    const { reviewers } = this.#settings;
    const who =
      reviewers.find((r) => r.id === id) ?? refuse("T5_REVIEWER_UNKNOWN", `${id} is no reviewer`, { reviewer: id });
    const role = reviewers.find((r) => r.id === assigned)?.role ?? null;
    if (id === assigned || who.role === assigned || (role !== null && who.role === role)) return;
    refuse("T5_AUTHZ_FORBIDDEN", `the review is ${assigned}'s, not ${id}'s`, { reviewer: id });
  }

  #requireRoom(): void {
    const { maxEntries } = this.#settings;
    if (this.#lines.length >= maxEntries)
      refuse("T0_VALIDATION_PAYLOAD_TOO_LARGE", `the log is full: maxEntries = ${maxEntries}`);
  }

  #addEntry(entry: AuditEntry): AuditEntry {
    this.#requireRoom();
    const parsed = deepFreeze(parse(AuditEntry, entry));
    this.#add({ evidence: "audit_entry", stream, entry: parsed });
    return parsed;
  }

  #add(content: EvidenceContent): void {
    this.#lines.push(deepFreeze(sealEvidence(this.#lines.at(-1)?.hash ?? genesisHash, content)));
    if (content.evidence === "audit_entry") this.#note(content.entry);
  }

  #note(entry: AuditEntry): void {
    const { interaction_id, outcome, policies } = entry;
    if (outcome.type === "QueuedForReview") {
      this.#submitted.set(interaction_id, outcome.review_id);
      this.#reviews.set(outcome.review_id, { interaction_id, reviewer: outcome.reviewer, policies, decided: null });
    } else if (outcome.type === "HumanApproved" || outcome.type === "HumanRejected") {
      const id = this.#submitted.get(interaction_id) ?? "";
      const review = this.#reviews.get(id);
      if (review !== undefined) this.#reviews.set(id, { ...review, decided: entry });
    } else this.#submitted.set(interaction_id, null);
  }
}

/** Reads an exported log. @throws KernelErrorException T0_LEDGER_CORRUPT with the line that is wrong. */
function readLog(text: string): readonly EvidenceContent[] {
  if (text === "") return [];
  const lines = text.replace(/\n$/, "").split("\n");
  let prev = genesisHash;
  const contents = lines.map((line, i) => {
    const found = readEvidence(line);
    const isLast = i === lines.length - 1;
    if (found === null || !followsEvidence(prev, found) || (found.evidence === "closing") !== isLast)
      return refuse("T0_LEDGER_CORRUPT", `line ${i + 1} of the log is not as it was exported`, { line: i + 1 });
    prev = found.hash;
    const { hash: _sealedAgain, ...content } = found;
    return content;
  });
  return contents.slice(0, -1) as readonly EvidenceContent[];
}

function parse<S extends z.ZodType>(schema: S, raw: unknown): z.output<S> {
  return readStrictly(schema, raw, { what: "review pipeline", source: pipelineRef });
}
