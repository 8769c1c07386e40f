/** The rows of the catalogue of error codes that single faces emit. */
import { agentErrorCodes } from "./agent-error-codes.ts";
import { cliErrorCodes } from "./cli-error-codes.ts";
import { guardErrorCodes } from "./guard-error-codes.ts";
import { protocolErrorCodes } from "./protocol-error-codes.ts";

export const faceErrorCodes = {
  ...cliErrorCodes,
  ...guardErrorCodes,
  ...agentErrorCodes,
  ...protocolErrorCodes,
} as const;
