/** The rows of the catalogue of error codes that a guard before MCP servers emits. */
import { busy, external, input, policy, resource } from "./error-row.ts";

export const guardErrorCodes = {
  T0_OAUTH_DISCOVERY_FAILED: external(
    "Check the issuer and what it publishes, or name the address of its keys by --jwks.",
  ),
  T0_HTTP_PROXY_HEADER: input("Have the proxy set the header itself, once, with the name of one user."),
  T0_HTTP_PROXY_UNTRUSTED: policy("Ask through the proxy, or without the header."),
  T0_GUARD_WAITING: resource(
    "Let a person decide at the link in the detail; then call the tool again with the same arguments.",
    busy,
  ),
  T0_GUARD_HANDED_OVER: input("Use the result that the other request received, or call the tool once more.", {
    http: 409,
  }),
  T0_GUARD_UPSTREAM_GONE: external("Start the MCP server behind the guard, or mend its address; then call again.", {
    http: 502,
  }),
  T0_GUARD_TOOL_CHANGED: policy(
    "Have a person look at what the server says of this tool now, at the link in the detail, and accept it or not.",
  ),
  T0_GUARD_SERVER_UNKNOWN: input("Start the guard with the server that this call is for.", { http: 404 }),
} as const;
