/**
 * A gate as a plan declares it: who may decide, how many of them, in what time, and what follows if nobody does.
 *
 * 1.  A gate that could never be satisfied is refused: here if the declaration shows it, by the compiler if it depends
 *     on the requester.
 * 2.  Without a quorum one decision closes the gate. With one, approval takes `approvals` votes and rejection
 *     `rejections`: by default as many as leave too few approvers, or one if the approvers are not named.
 * 3.  A quorum of parts takes the approvals of each role that it names, and one rejection unless it says more.
 * 4.  Stages take the place of roles, quorum and approvers: each has its own, and one rejection ends the gate in any.
 */
import { z } from "zod";
import { type GateQuorum, type GateStage, QuorumPart, StageSpec } from "./gate-quorum.ts";
import { gateConfirms } from "./gate-status.ts";
import { PrincipalId } from "./ids.ts";

const hundredYears = 100 * 365.25 * 86_400_000;
const Wait = z.int().positive().max(hundredYears);
const RoleName = z.string().min(1).max(64);

/** The action that follows if nobody decides in time; without it a gate waits for ever. */
export const GateExpiry = z.strictObject({
  /**
   * Milliseconds after the gate opened; of a rung of the ladder: after the rung before it, or after the gate opened.
   */
  after_ms: Wait,
  /** The action that the kernel then takes. */
  action: z.enum(["deny", "allow", "suspend", "escalate"]),
  /** The role that `escalate` asks; `admin` by default. */
  role: z.string().optional(),
  /** True: `escalate` asks this role instead of those who were asked before; else in addition to them. */
  replace: z.boolean().optional(),
});
export type GateExpiry = z.infer<typeof GateExpiry>;

/** The role that an escalation without a role goes to. */
export const defaultEscalation = "admin";

/** A named approver. Without a type, any principal with this id. */
export const Approver = z.strictObject({
  /** The principal's type, such as `user`; any type by default. */
  type: z.string().min(1).max(64).optional(),
  /** The principal's id. */
  id: PrincipalId,
});
export type Approver = z.infer<typeof Approver>;

/**
 * A rung of the escalation ladder: after so long without a decision this role may decide as well, or in place of the
 * others.
 */
const Escalation = z.strictObject({
  /** Milliseconds after the gate opened, or after the rung before. */
  after_ms: Wait,
  /** The role that is asked then as well. */
  role: RoleName,
  /** Whether the role replaces those that were asked before it. */
  replace: z.boolean().optional(),
});

/**
 * `roles` restricts who may decide, `approvers` names them; `advisors` are roles that may vote and are never counted.
 */
export const GateSpec = z
  .strictObject({
    /** The reason, which people read first. */
    reason: z.string().default("the plan asks for a decision"),
    /** Only these roles may decide. */
    roles: z.array(z.string()).min(1).optional(),
    /**
     * The action that follows if nobody decides in time, counted from the opening of the gate; without it the gate
     * waits for ever.
     */
    expiry: GateExpiry.optional(),
    /**
     * The interval, in milliseconds (1,000 at least), at which all notifiers are notified again while nobody decides.
     */
    remind: z
      .strictObject({
        /** Milliseconds between two reminders. */
        every: Wait.min(1_000),
      })
      .optional(),
    /** The number of votes that close the gate; without it, one decision does. */
    quorum: z
      .strictObject({
        /** The number of approvals that let the call be made. */
        approvals: z.int().positive().max(100).optional(),
        /** In place of `approvals`: the approvals of each of these roles; nobody else may decide. */
        of: z.array(QuorumPart).min(1).max(16).optional(),
        /** The number of rejections that end the step; by default as many as leave too few approvers. */
        rejections: z.int().positive().max(100).optional(),
      })
      .optional(),
    /** In place of `roles` and `quorum`: the groups that decide one after another on what the gate shows. */
    stages: z.array(StageSpec).min(2).max(8).optional(),
    /** Only these people may decide, each with one seat. */
    approvers: z.array(Approver).min(1).max(100).optional(),
    /**
     * Only principals of these types may decide, such as `user`: decisions of other types, such as a service or an
     * agent, are refused.
     */
    principal_types: z.array(z.string().min(1).max(64)).min(1).max(16).optional(),
    /** Roles that may vote and are never counted. */
    advisors: z.array(RoleName).min(1).max(100).optional(),
    /** Whether those who requested the work are barred from deciding on it. */
    separation: z.boolean().optional(),
    /** False: nobody may delegate their seat to somebody else. */
    delegation: z.boolean().optional(),
    /** Roles that are asked in addition, one after another; none of them moves `expiry`. */
    escalation: z.array(Escalation).max(16).optional(),
    /** Every counted vote must carry the voter's signature. */
    signed: z.boolean().optional(),
    /**
     * The care that the console and the command line take before they send an approval: the person is asked to `type`
     * a word, or for a `second_step`.
     */
    confirm: z.enum(gateConfirms).optional(),
  })
  .superRefine((spec, context) => {
    const refuse = (path: string, message: string): void => context.addIssue({ code: "custom", path: [path], message });
    const { approvers, advisors = [] } = spec;
    if (approvers?.some((one, at) => approvers.slice(0, at).some((other) => overlap(one, other))))
      refuse("approvers", "an approver is named twice");
    for (const [path, why] of whyUncounted(spec)) refuse(path, why);
    const counted = [
      ...[spec, ...(spec.stages ?? [])].flatMap((one) => rolesOf(one) ?? []),
      ...(spec.escalation ?? []).map((rung) => rung.role),
    ];
    if (spec.expiry?.action === "escalate") counted.push(spec.expiry.role ?? defaultEscalation);
    const both = counted.find((role) => advisors.includes(role));
    if (both !== undefined) refuse("advisors", `${both} cannot both decide and advise`);
    const types = spec.principal_types;
    if (types !== undefined && approvers?.some(({ type }) => type !== undefined && !types.includes(type)))
      refuse("approvers", "one of them is of a type that principal_types leaves out");
    if (spec.expiry?.replace !== undefined && spec.expiry.action !== "escalate")
      refuse("expiry", "only an escalation replaces those who are asked");
    const late = firstUnreached(spec);
    if (late !== null) refuse("escalation", `rung ${late + 1} is never reached: the gate expires before`);
    const why = whyUnsatisfiable(spec, approvers?.length ?? null);
    if (why !== null) refuse("quorum", why);
  });
export type GateSpec = z.infer<typeof GateSpec>;

interface Asked {
  readonly roles?: readonly string[] | undefined;
  readonly quorum?:
    | { readonly approvals?: number | undefined; readonly of?: readonly QuorumPart[] | undefined }
    | undefined;
}

/** Returns why votes could not be counted by the roles, the quorum and the stages of a gate, by its member. */
function whyUncounted(spec: z.infer<typeof GateSpec>): readonly (readonly [keyof GateSpec, string])[] {
  const { stages, quorum, roles, approvers, expiry, escalation = [] } = spec;
  const own = quorum === undefined && roles === undefined ? [] : whyUncountedBy(spec);
  if (stages === undefined) return own;
  const replaced = [expiry?.replace, ...escalation.map(({ replace }) => replace)].includes(true);
  return [
    ...stages.flatMap((stage) => whyUncountedBy(stage).map(([, why]) => ["stages", why] as const)),
    ...(quorum === undefined ? [] : [["quorum", "each stage has a quorum of its own; leave this one out"] as const]),
    ...(roles === undefined ? [] : [["roles", "the stages name the roles that decide; leave roles out"] as const]),
    ...(approvers === undefined ? [] : [["approvers", "a stage asks roles; leave approvers out"] as const]),
    ...(replaced ? [["escalation", "the roles of stages are not replaced; leave replace out"] as const] : []),
  ];
}

function whyUncountedBy({ quorum, roles }: Asked): readonly (readonly ["quorum" | "roles", string])[] {
  const { approvals, of } = quorum ?? {};
  const isTwice = of !== undefined && new Set(of.map(({ role }) => role)).size < of.length;
  return [
    ...(quorum !== undefined && (approvals === undefined) === (of === undefined)
      ? [["quorum", "it says either approvals, or the approvals of each role as of"] as const]
      : []),
    ...(isTwice ? [["quorum", "a role is named twice in of"] as const] : []),
    ...(of !== undefined && roles !== undefined
      ? [["roles", "the quorum names the roles that decide; leave roles out"] as const]
      : []),
  ];
}

/** Returns the first escalation that does not fall due before the gate's expiry; null if there is none. */
function firstUnreached({ escalation = [], expiry }: Pick<GateSpec, "escalation" | "expiry">): number | null {
  if (expiry === undefined) return null;
  let due = 0;
  const found = escalation.findIndex(({ after_ms }) => {
    due += after_ms;
    return due >= expiry.after_ms;
  });
  return found === -1 ? null : found;
}

const overlap = (a: Approver, b: Approver): boolean =>
  String(a.id) === String(b.id) && (a.type === undefined || b.type === undefined || a.type === b.type);

type Quorum = Pick<GateSpec, "quorum">;

/** Returns the number of approvals that a gate takes, or one of its stages. */
const approvalsOf = ({ quorum: { approvals = 1, of } = {} }: Asked): number =>
  of === undefined ? approvals : of.reduce((sum, part) => sum + part.approvals, 0);

/** Returns the roles that may decide a gate, or one of its stages; null if any may. */
export const rolesOf = ({ roles, quorum }: Asked): string[] | null =>
  (roles && [...roles]) ?? quorum?.of?.map(({ role }) => role) ?? null;

/** Returns the stages of a gate with their defaults filled in; nothing if it has none. */
export const stagesOf = ({ stages = [] }: Pick<Partial<GateSpec>, "stages">): GateStage[] =>
  stages.map((stage) => ({
    roles: rolesOf(stage),
    quorum: {
      ...{ approvals: approvalsOf(stage), rejections: 1 },
      ...(stage.quorum?.of === undefined ? {} : { of: [...stage.quorum.of] }),
    },
  }));

/** Returns why so many seats (null: not named, hence not counted) can never decide this gate; null when they can. */
export function whyUnsatisfiable(spec: Quorum, seats: number | null): string | null {
  if (seats === null) return null;
  const approvals = approvalsOf(spec);
  const { rejections = 1 } = spec.quorum ?? {};
  if (seats < approvals) return `${approvals} approvals of ${seats} approvers can never be had`;
  if (rejections > seats - approvals + 1)
    return (
      `with ${approvals} approvals of ${seats} approvers a rejection may take ${seats - approvals + 1} votes at ` +
      "most, or all could have voted and nothing be decided"
    );
  return null;
}

/**
 * Returns the quorum with its defaults filled in, in which at least one rejection counts; null if one decision closes
 * the gate.
 */
export function completeQuorum(spec: Quorum, seats: number | null): GateQuorum | null {
  const { quorum } = spec;
  if (quorum === undefined) return null;
  const { of } = quorum;
  const approvals = approvalsOf(spec);
  const byDefault = seats === null || of !== undefined ? 1 : Math.max(1, seats - approvals + 1);
  const { rejections = byDefault } = quorum;
  return { approvals, rejections, ...(of === undefined ? {} : { of: [...of] }) };
}
