/**
 * Replaces the test kernel under REPLAY=1: each module that imports it gets one whose workflows are replayed. Node
 * loads this file before the tests.
 */
import { registerHooks } from "node:module";

const replacement = new URL("replayed-test-kernel.ts", import.meta.url).href;

registerHooks({
  resolve(specifier, context, next) {
    const resolved = next(specifier, context);
    const isReplaced = resolved.url.endsWith("/src/testing/test-kernel.ts") && context.parentURL !== replacement;
    return isReplaced ? { ...resolved, url: replacement } : resolved;
  },
});
