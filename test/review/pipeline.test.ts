/** The review pipeline by itself: who is asked, who may answer, and a log that goes on where it was exported. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createReviewPipeline, type ReviewPipeline, type ReviewPipelineOptions } from "../../src/index.ts";
import { codeOf } from "../federation/replicas.ts";
import { runs } from "../properties/property-runs.ts";

const reviewers = [
  { id: "ann", role: "lead" },
  { id: "bob", role: "clerk" },
  { id: "cyd", role: "lead" },
];
const open = (more: Partial<ReviewPipelineOptions> = {}): ReviewPipeline =>
  createReviewPipeline({ reviewers: ["ann", "bob"], threshold: 0.7, ...more });
const scored = (id: string, claimed_score?: number, measured_score?: number) => ({
  interaction_id: id,
  policies: ["tone"],
  ...(claimed_score === undefined ? {} : { claimed_score }),
  ...(measured_score === undefined ? {} : { measured_score }),
});
const low = (pipeline: ReviewPipeline, id: string) => pipeline.submit(scored(id, 0.1)).outcome;

describe("submit", () => {
  it("[RLH-01] appends three entries in a stable order that nobody can change", () => {
    const pipeline = open();
    const entries = [scored("i1", 0.9), scored("i2", 0.2), scored("i3", 1)].map(pipeline.submit);
    expect(pipeline.log()).toEqual(entries);
    expect(pipeline.log().map((e) => e.interaction_id)).toEqual(["i1", "i2", "i3"]);
    expect(() => Object.assign(pipeline.log()[0] as object, { interaction_id: "x" })).toThrow(TypeError);
    expect(() => (pipeline.log() as unknown[]).pop()).toThrow(TypeError);
    expect(pipeline.log()).toEqual(entries);
  });

  it("[RLH-02] a measured score beats a claimed one, both ways", () => {
    const pipeline = open();
    expect(pipeline.submit(scored("boast", 0.99, 0.3)).outcome.type).toBe("QueuedForReview");
    expect(pipeline.submit(scored("modest", 0.1, 0.8)).outcome.type).toBe("AutoApproved");
    expect(pipeline.submit(scored("claimed", 0.8)).outcome.type).toBe("AutoApproved");
    expect(pipeline.submit(scored("silent")).outcome.type).toBe("QueuedForReview");
    expect(open({ threshold: null }).submit(scored("unscored")).outcome.type).toBe("AutoApproved");
  });

  it("[RLH-04][C-10] policies are listed in order whatever they say; a denial blocks, a demand queues", () => {
    const pipeline = open({ threshold: null });
    const policies = [
      { name: "first", decision: "ALLOW" },
      { name: "second", decision: "REDACT" },
    ] as const;
    expect(pipeline.submit({ interaction_id: "i1", policies: [...policies] })).toEqual({
      interaction_id: "i1",
      outcome: { type: "AutoApproved" },
      policies: ["first", "second"],
    });
    const denied = [...policies, { name: "third", decision: "DENY" } as const];
    expect(pipeline.submit({ interaction_id: "i2", policies: denied }).outcome).toEqual({
      type: "Blocked",
      policy: "third",
    });
    const asked = [{ name: "fourth", decision: "REQUIRE_APPROVAL" } as const];
    expect(pipeline.submit({ interaction_id: "i3", policies: asked }).outcome.type).toBe("QueuedForReview");
  });

  it("[RLH-02] reviewers take turns, or a role is asked", () => {
    const turns = open();
    const named = ["i1", "i2", "i3"].map((id) => low(turns, id));
    expect(named).toEqual([
      { type: "QueuedForReview", review_id: "review-1", reviewer: "ann" },
      { type: "QueuedForReview", review_id: "review-2", reviewer: "bob" },
      { type: "QueuedForReview", review_id: "review-3", reviewer: "ann" },
    ]);
    const byRole = open({ reviewers, assign: "role" });
    expect(byRole.submit({ ...scored("i1", 0), role: "clerk" }).outcome).toMatchObject({ reviewer: "clerk" });
    expect(codeOf(() => byRole.submit({ ...scored("i2", 0), role: "judge" }))).toBe("T5_REVIEWER_UNKNOWN");
    expect(byRole.log()).toHaveLength(1);
  });
});

describe("decide", () => {
  it("[RLH-02] once, by whom it was given to: the same answer again is the recorded one, another is refused", () => {
    const pipeline = open();
    low(pipeline, "i1");
    expect(codeOf(() => pipeline.decide("review-1", "bob", "approve"))).toBe("T5_AUTHZ_FORBIDDEN");
    expect(codeOf(() => pipeline.decide("review-1", "eve", "approve"))).toBe("T5_REVIEWER_UNKNOWN");
    expect(codeOf(() => pipeline.decide("review-9", "ann", "approve"))).toBe("T5_REVIEW_NOT_FOUND");
    const entry = pipeline.decide("review-1", "ann", "approve");
    expect(entry).toEqual({
      interaction_id: "i1",
      outcome: { type: "HumanApproved" },
      policies: ["tone"],
      decided_by: "ann",
    });
    expect(pipeline.decide("review-1", "ann", "approve")).toBe(entry);
    expect(codeOf(() => pipeline.decide("review-1", "ann", "reject"))).toBe("T5_REVIEW_CONFLICT");
    expect(pipeline.log()).toHaveLength(2);
  });

  it("[RLH-02] a reviewer is not called like a role: whose review it is would be read two ways", () => {
    const reviewers = [
      { id: "lead", role: "clerk" },
      { id: "bob", role: "lead" },
    ];
    expect(codeOf(() => createReviewPipeline({ reviewers }))).toBe("T0_VALIDATION_SCHEMA_MISMATCH");
  });

  it("[RLH-02] somebody of the same role may answer", () => {
    const pipeline = open({ reviewers, assign: "role" });
    low(pipeline, "i1");
    expect(codeOf(() => pipeline.decide("review-1", "bob", "reject"))).toBe("T5_AUTHZ_FORBIDDEN");
    expect(pipeline.decide("review-1", "cyd", "reject").outcome).toEqual({ type: "HumanRejected" });
  });
});

describe("bad input", () => {
  it.each<[string, () => unknown, string]>([
    ["no reviewer at all", () => open({ reviewers: [] }), "T0_VALIDATION_SCHEMA_MISMATCH"],
    ["a reviewer named twice", () => open({ reviewers: ["ann", "ann"] }), "T0_VALIDATION_SCHEMA_MISMATCH"],
    ["a score above one", () => open().submit(scored("i1", 7)), "T0_VALIDATION_SCHEMA_MISMATCH"],
    ["no interaction id", () => open().submit({ policies: [] } as never), "T0_VALIDATION_SCHEMA_MISMATCH"],
    ["a report that is no JSON", () => open().attach(() => 1), "T0_VALIDATION_SCHEMA_MISMATCH"],
    ["a log that is no JSON Lines", () => open({ log: "{half\n" }), "T0_LEDGER_CORRUPT"],
  ])("[RLH-01] %s is refused with a code", (_what, call, code) => {
    expect(codeOf(call)).toBe(code);
  });

  it("[RLH-01] an interaction is submitted once, and a full log takes nothing more", () => {
    const pipeline = open({ maxEntries: 1 });
    pipeline.submit(scored("i1", 1));
    expect(codeOf(() => pipeline.submit(scored("i1", 1)))).toBe("T5_REVIEW_CONFLICT");
    expect(codeOf(() => pipeline.submit(scored("i2", 1)))).toBe("T0_VALIDATION_PAYLOAD_TOO_LARGE");
    expect(pipeline.log()).toHaveLength(1);
  });
});

describe("export", () => {
  function lived(): ReviewPipeline {
    const pipeline = open({ reviewers: ["ann", "bob", "cyd"] });
    for (const id of ["i1", "i2", "i3", "i4"]) low(pipeline, id);
    pipeline.submit(scored("good", 1));
    pipeline.decide("review-1", "ann", "approve");
    pipeline.attach({ suite: "tone", passed: 12, "10": "é\u2028" });
    return pipeline;
  }

  it("[RLH-05] entries and evaluation reports come out together, in order, as JSON Lines", () => {
    const lines = lived()
      .export()
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(lines.map((line) => line["evidence"])).toEqual([
      ...Array<string>(6).fill("audit_entry"),
      "evaluation_report",
      "closing",
    ]);
    expect(lines[6]).toMatchObject({ report_id: "report-1", report: { suite: "tone", passed: 12 } });
  });

  it("[RLH-01] a pipeline continued from an export has the same log, open reviews and next reviewer", () => {
    const first = lived();
    const again = open({ reviewers: ["ann", "bob", "cyd"], log: first.export() });
    expect(again.log()).toEqual(first.log());
    expect(again.export()).toBe(first.export());
    for (const pipeline of [first, again]) {
      expect(low(pipeline, "i5")).toEqual({ type: "QueuedForReview", review_id: "review-5", reviewer: "bob" });
      expect(codeOf(() => pipeline.decide("review-1", "ann", "reject"))).toBe("T5_REVIEW_CONFLICT");
      expect(pipeline.decide("review-2", "bob", "reject").outcome.type).toBe("HumanRejected");
    }
    expect(again.export()).toBe(first.export());
  });

  it("[RLH-01] a log altered in one character, or cut, is refused and the line is named", () => {
    const whole = lived().export();
    fc.assert(
      fc.property(fc.nat(whole.length - 2), fc.constantFrom("x", "0", "}", " "), (at, other) => {
        fc.pre(whole[at] !== other);
        const altered = whole.slice(0, at) + other + whole.slice(at + 1);
        expect(codeOf(() => open({ log: altered }))).toBe("T0_LEDGER_CORRUPT");
      }),
      { numRuns: runs(300) },
    );
    const lines = whole.trimEnd().split("\n");
    for (let kept = 1; kept < lines.length; kept += 1)
      expect(codeOf(() => open({ log: lines.slice(0, kept).join("\n") }))).toBe("T0_LEDGER_CORRUPT");
  });
});
