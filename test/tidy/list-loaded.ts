/**
 * Imports one module and prints, as JSON, the packages and builtins that came with it. Run as a process of its own:
 * `node list-loaded.ts ./path/of/module.ts`. Nothing else of this folder may be imported here.
 */
import { registerHooks } from "node:module";
import { pathToFileURL } from "node:url";

const loaded = new Set<string>();

registerHooks({
  resolve(specifier, context, nextResolve) {
    const found = nextResolve(specifier, context);
    const [, name] = /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(found.url) ?? [];
    if (name !== undefined) loaded.add(name);
    else if (found.url.startsWith("node:")) loaded.add(found.url);
    return found;
  },
});

const [, , target = ""] = process.argv;
await import(pathToFileURL(target).href);
console.log(JSON.stringify([...loaded].sort()));
