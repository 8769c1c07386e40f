/**
 * Loaded before a program that needs the compiler's API: `typescript` is the release that @ts-morph/common brings; ours
 * has another API.
 */
import { registerHooks } from "node:module";

const older = import.meta.resolve("./typescript.js");
registerHooks({
  resolve: (specifier, context, next) =>
    specifier === "typescript" ? { url: older, shortCircuit: true } : next(specifier, context),
  load: (url, context, next) =>
    url === older
      ? { format: "module", source: 'export { ts as default } from "@ts-morph/common";', shortCircuit: true }
      : next(url, context),
});
