/** The rows of the catalogue of error codes that the command line emits; a command that is used wrongly ends with 2. */
import { input } from "./error-row.ts";

export const cliErrorCodes = {
  T0_CLI_FILE_INVALID: input("Correct the file where the message says, then run the command again."),
  T0_CLI_ID_EMPTY: input("Name the id; lists such as list, gates and schedules show what there is."),
} as const;
