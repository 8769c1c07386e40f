/** The states of a gate. This file loads no schema, so that a page in a browser can ask whether a gate is open. */

export const gateKinds = ["approval", "in_doubt", "ask"] as const;
export const gateStatuses = ["declared", "open", "suspended", "approved", "rejected", "expired", "voided"] as const;
export type GateStatus = (typeof gateStatuses)[number];

/** The care that faces take before they send an approval: a typed word, or a second step. */
export const gateConfirms = ["type", "second_step"] as const;
export type GateConfirm = (typeof gateConfirms)[number];

/** Returns the strictest of these cares: a typed word before a second step; undefined if none is asked for. */
export const strictestConfirm = (cares: readonly (GateConfirm | undefined)[]): GateConfirm | undefined =>
  gateConfirms.find((care) => cares.includes(care));

/** The word that a person types where a gate asks for one. */
export const confirmWord = "approve";

/** Returns whether a gate may still be decided: open, or suspended until a person does. */
export const isOpenGate = ({ status }: { readonly status: GateStatus }): boolean =>
  status === "open" || status === "suspended";
