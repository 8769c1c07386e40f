/** A kernel says at once that the runtime is too old, and how to go on, in place of failing somewhere. */
import { expect, it } from "vitest";
import { KernelErrorException } from "../../src/contract/kernel-error.ts";
import { requireRuntime } from "../../src/kernel/require-runtime.ts";

it.each(["20.20.2", "22.12.0", "23.11.0"])("Node %s is refused with a code and the version that it is", (version) => {
  const refused = expect.objectContaining({ code: "T0_RUNTIME_UNSUPPORTED", detail: { version } });
  expect(() => requireRuntime(version)).toThrow(expect.objectContaining({ error: refused }));
  expect(() => requireRuntime(version)).toThrow(KernelErrorException);
});

it.each(["24.0.0", "26.3.0", process.versions.node])("Node %s is served", (version) => {
  expect(() => requireRuntime(version)).not.toThrow();
});
