/**
 * Loaded before a program of the documents: `countersign` and its entries are this repository's sources, by
 * package.json, and other packages are found from here, wherever the program lies.
 */
import { readFileSync } from "node:fs";
import { registerHooks } from "node:module";

const root = new URL("../../", import.meta.url);
const { exports: entries } = JSON.parse(readFileSync(new URL("package.json", root), "utf8")) as {
  readonly exports: Readonly<Record<string, { readonly default?: string } | string>>;
};

/** `countersign/http` → the file that its entry is built from; of types alone there is none. */
export const sources: ReadonlyMap<string, URL> = new Map(
  Object.entries(entries).flatMap(([name, entry]) => {
    if (typeof entry === "string" || entry.default === undefined) return [];
    const source = entry.default.replace("./dist/", "./").replace(/\.js$/, ".ts");
    return [[`countersign${name.slice(1)}`, new URL(source, root)] as const];
  }),
);

registerHooks({
  resolve(specifier, context, next) {
    const source = sources.get(specifier);
    if (source !== undefined) return { url: source.href, shortCircuit: true };
    const isPackage = /^[@\w]/.test(specifier) && !specifier.includes(":");
    const outside = !(context.parentURL ?? "").startsWith(root.href);
    return next(specifier, isPackage && outside ? { ...context, parentURL: import.meta.url } : context);
  },
});
