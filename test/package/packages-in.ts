/** The packages that a module imports by name: `@scope/name/entry` is of `@scope/name`. */
export const packagesIn = (source: string): readonly string[] =>
  [...source.matchAll(/(?:from|import) ?\(?"([^".][^"]*)"/g)]
    .map(([, path = ""]) =>
      path
        .split("/")
        .slice(0, path.startsWith("@") ? 2 : 1)
        .join("/"),
    )
    .filter((name) => !name.startsWith("node:"));
