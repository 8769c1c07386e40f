/** The history of decisions of a ledger store: an index, written in the transaction of the event that it tells of. */
import type { Decision, DecisionAct } from "../contract/decision.ts";
import type { Paged } from "./ledger-store.ts";

type Id = string | number;

/** A decision that an append records. `ordinal` is its event's place in the row, from 0. */
export interface IndexedDecision {
  readonly ordinal: number;
  readonly decision: Omit<Decision, "workflow_id" | "sequence" | "at">;
}

/** The place of a decision in the history. `at` is epoch ms. */
export interface DecisionPlace {
  readonly at: number;
  readonly workflow_id: string;
  readonly sequence: number;
}

/** The selection of a history. Times are epoch ms; `text` is as `foldCase` returns it. */
export interface DecisionSelection {
  readonly tenant_id?: Id;
  readonly principal_id?: Id;
  readonly act?: DecisionAct;
  readonly intent_type?: string;
  readonly operator?: string;
  readonly workflow_id?: string;
  readonly since?: number;
  readonly until?: number;
  readonly text?: string;
}

/** A page of the history, the newest first by default. */
export type DecisionPageQuery = DecisionSelection & Paged<DecisionPlace> & { readonly sort?: "newest" | "oldest" };

/** The history of decisions, as a store keeps it. */
export interface DecisionIndex {
  /** Returns a page of the history. */
  decisions(page: DecisionPageQuery): Promise<readonly Decision[]>;
  /** Returns how many decisions a selection has. */
  countDecisions(selection: DecisionSelection): Promise<number>;
}
