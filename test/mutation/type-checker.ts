/**
 * Whether a changed file still has the types it is used with, asked of a compiler that stays open over the copy: well
 * under a second a file.
 *
 * Owns: the compiler's process. Never: looks at files that use the changed one (the whole project is compiled for
 * survivors). The package calls this face of TypeScript 7 unstable: it stands in this file alone.
 */
import { join } from "node:path";
import { API, type Snapshot } from "typescript/unstable/sync";

export interface TypeChecker extends Disposable {
  /** True when the file, as it lies there now, has no error of its own. */
  readonly accepts: (path: string) => boolean;
}

export function openTypeChecker(folder: string): TypeChecker {
  const api = new API({ cwd: folder });
  const config = join(folder, "tsconfig.json");
  let snapshot: Snapshot = api.updateSnapshot({ openProjects: [config] });
  return {
    accepts(path) {
      const file = join(folder, path);
      const before = snapshot;
      snapshot = api.updateSnapshot({ fileChanges: { changed: [file] } });
      before.dispose();
      const program = snapshot.getProject(config)?.program;
      if (program === undefined) throw new Error(`${config} is no project`);
      return program.getSyntacticDiagnostics(file).length + program.getSemanticDiagnostics(file).length === 0;
    },
    [Symbol.dispose]: () => api.close(),
  };
}
