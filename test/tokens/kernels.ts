/**
 * Drafts and kernels for the tests of this folder.
 *
 * Owns: the shortest draft, and reading a stream by token. Never: a rule.
 */
import {
  contextHash,
  createTokenKernel,
  KernelErrorException,
  type TokenDraft,
  type TokenEvent,
  type TokenKernel,
  type TokenKernelOptions,
} from "../../src/index.ts";

export const draft = (fields: Partial<TokenDraft> = {}): TokenDraft => ({ context_hash: contextHash({}), ...fields });

export const open = (options: Partial<TokenKernelOptions> = {}): TokenKernel =>
  createTokenKernel({ seed: 1, executor: () => undefined, ...options });

export const eventsOf = (kernel: TokenKernel, id: number): readonly TokenEvent[] =>
  kernel.events().filter((event) => event.token_id === id);

export const kindsOf = (kernel: TokenKernel, id: number): readonly string[] =>
  eventsOf(kernel, id).map(({ kind, label }) => label ?? kind);

export const detailOf = (
  kernel: TokenKernel,
  id: number,
  kind: string,
): Readonly<Record<string, unknown>> | undefined => eventsOf(kernel, id).find((event) => event.kind === kind)?.detail;

/** The code of what it throws, "" when it throws nothing. */
export function codeOf(act: () => unknown): string {
  try {
    act();
    return "";
  } catch (thrown) {
    return thrown instanceof KernelErrorException ? thrown.error.code : `not coded: ${thrown}`;
  }
}

/** Everything that a refusal must leave as it was. */
export const stateOf = (kernel: TokenKernel): unknown =>
  JSON.parse(JSON.stringify([kernel.snapshot(), kernel.queueLength(), kernel.capabilities(), kernel.governor()]));
