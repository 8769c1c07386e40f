// The twins that return what others throw are there for hosts: by name, from the root.
import { describe, expect, it } from "vitest";
import { createDataSignal, isKernelError, trySignalToToolCall, tryValidateMessageEnvelope } from "../../src/index.ts";

describe("the root exports", () => {
  it("[BRG-01] trySignalToToolCall, which returns the error, and isKernelError, which tells it", () => {
    const ref = { tier: 0, module: "bridge", function: "call" } as never;
    const call = trySignalToToolCall(createDataSignal({}, "ToolCall", ref, "trc_1"));
    expect(isKernelError(call)).toBe(true);
    expect(isKernelError({ name: "x", arguments: {} })).toBe(false);
  });

  it("[RPC-08] tryValidateMessageEnvelope, which returns the message or its refusal", () => {
    expect(tryValidateMessageEnvelope({ jsonrpc: "2.0", method: "m" })).toMatchObject({ message: { method: "m" } });
    expect(tryValidateMessageEnvelope([])).toMatchObject({ refusal: { error: { code: -32600 } } });
  });
});
