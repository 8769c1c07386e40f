/**
 * The declarations that precede the schema of a host: the types of principals, of plans and of the context, and the
 * groups of actions.
 *
 * Owns: the vocabulary of a request to Cedar. Never: fills it in; `make-request.ts` does.
 */

/** The Cedar declarations that stand before every host's schema; a host does not repeat them. */
export const cedarBaseSchema = `entity Tenant;
entity Role in [Role];
entity Group in [Group];
entity Capability;
entity Principal in [Role, Group, Tenant] = {
  type: String,
  id: String,
  role: String,
  scopes: Set<String>,
  allow_external_send: Bool,
  allow_pii: Bool,
} tags String;
type Approvals = { count: Long, roles: Set<String>, people: Set<Principal> };
type Question = {
  stage: String,
  now: datetime,
  weekday: String,
  capability: String,
  operator?: String,
  effect?: String,
  risk?: String,
  tags: Set<String>,
  applies?: String,
  schedule?: String,
  depth: Long,
  requester: Principal,
  approvals: Approvals,
  budget: { spent: decimal },
};
type PlannedStep = { step_id: String, operator: String, policy_tags: Set<String>, risk_level: String, runs?: String };
entity Plan in [Capability, Tenant] = { payload: { steps: Set<PlannedStep> } };
action call, draft, decide;
action none, read, write_draft, final_write, external_send, credential_use;
`;

/** The declaration of the action at stage plan, which stands there if the policies are asked about plans. */
export const planAction = "action plan appliesTo { principal: Principal, resource: Plan, context: Question };\n";

/** The names of types that are taken: those declared here, and those of Cedar itself. */
export const baseTypes: readonly string[] = [
  ...["Tenant", "Role", "Group", "Capability", "Principal", "Approvals", "Question", "PlannedStep", "Plan", "Action"],
  ...["Bool", "Boolean", "Entity", "Extension", "Long", "Record", "Set", "String"],
];
