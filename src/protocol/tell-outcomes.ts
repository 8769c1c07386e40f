/** The outcomes of a workflow as clients of other protocols see them, without what only its ledger needs. */
import type { McpWorkflow } from "../contract/mcp.ts";
import type { WorkflowState } from "../contract/workflow-state.ts";

/** Returns the outcomes, each in its newest version. */
export const tellOutcomes = ({ outcomes }: Pick<WorkflowState, "outcomes">): McpWorkflow["outcomes"] =>
  outcomes.map(({ outcome_id, outcome_type, status, version, content }) => ({
    outcome_id,
    outcome_type,
    status,
    version,
    content,
  }));
