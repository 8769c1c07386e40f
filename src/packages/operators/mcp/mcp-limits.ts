// Every limit towards a server of tools. Times in ms, sizes in characters of JSON.

/** Limits towards a server of tools, by name. */
export interface McpClientLimits {
  /** Pages of one listing. */
  readonly maxPages: number;
  /** Tools of one server. */
  readonly maxTools: number;
  /** One tool's definition. */
  readonly maxToolChars: number;
  /** One result, with its files in base64. */
  readonly maxResultChars: number;
  /** Progress notifications of one call that are passed on. */
  readonly maxProgress: number;
  /** The text of one of them. */
  readonly maxProgressChars: number;
  /** Messages of the server while no call begins or ends, whatever they are; one more ends the connection. */
  readonly maxMessages: number;
  /** The time of the processor that compiling one schema, or judging one value by it, may take. */
  readonly schemaTimeoutMs: number;
  /** The wait for one answer while connecting and listing; calls have the timeout of their operator. */
  readonly answerTimeoutMs: number;
}

/** The limits towards a server of tools where none are given. */
export const defaultMcpClientLimits: McpClientLimits = Object.freeze({
  maxPages: 64,
  maxTools: 512,
  maxToolChars: 100_000,
  maxResultChars: 16_000_000,
  maxProgress: 1_000,
  maxProgressChars: 2_000,
  maxMessages: 10_000,
  schemaTimeoutMs: 250,
  answerTimeoutMs: 30_000,
});
