/** The rows of the catalogue of error codes that the adapters for agent frameworks emit. */
import { busy, external, input, policy, resource } from "./error-row.ts";

export const agentErrorCodes = {
  T0_AGENT_WAITING: resource("Let a person decide at the link in the detail; then resume the agent.", busy),
  T0_AGENT_PACKAGE_MISSING: input("Pass the capabilities of createAgents to createKernel, then ask again."),
  T0_AGENT_AWAY: external("Resume the agent: it makes the call that was permitted; nothing was called yet."),
  T0_AGENT_CALL_CHANGED: policy("Have the agent call the tool anew; the approval is for another tool."),
  T0_AGENT_TAKEN: input("Use the result of the first call, or have the agent call the tool anew.", { http: 409 }),
  T0_AGENT_UNGUARDED: input("Give this tool to countersigned with the others, and use the tools that it returns."),
  T0_AGENT_UNJUDGED: external("Mend what the message names; nothing was called, so the agent can call the tool again."),
  T0_AGENT_RESULT_INVALID: input("Have the tool return JSON within the kernel's limits; the call was made."),
} as const;
