/** The parts of a quorum and the stages of a gate in words, for every face. */
import type { Gate } from "../contract/gate.ts";
import type { GateStage, QuorumPart } from "../contract/gate-quorum.ts";

/** Describes parts, as in `1 of risk and 2 of finance`. */
export const describeParts = (parts: readonly QuorumPart[]): string =>
  parts.map(({ role, approvals }) => `${approvals} of ${role}`).join(" and ");

/** Describes whom a stage asks, as in `2 of risk or legal`. */
export const describeStage = ({ roles, quorum: { approvals, of } }: GateStage): string =>
  of === undefined ? `${approvals} of ${roles?.join(" or ") ?? "anybody who may approve"}` : describeParts(of);

/** Describes the stages of a gate, each with whether it is filled, asked or still to come. */
export const describeStages = ({ stages = [], stage = 1, status }: Pick<Gate, "stages" | "stage" | "status">) =>
  stages.map((one, at) => {
    const isPast = at + 1 < stage || (at + 1 === stage && status === "approved");
    const isOpen = status === "open" || status === "suspended";
    const how = isPast ? "filled" : at + 1 > stage ? "not asked" : isOpen ? "asked now" : "not filled";
    return `${at + 1}. ${describeStage(one)}: ${how}`;
  });
