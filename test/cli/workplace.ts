/** Where tests of the command line work: a repository with a short history, and a ledger file beside it. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { makeTempFolder, type TempFolder } from "../operators/temp-folder.ts";
import { makeRepository, readHere, runHere } from "./command-line.ts";

export interface Workplace {
  readonly folder: TempFolder;
  readonly repo: string;
  readonly db: string;
}

export function makeWorkplace(): Workplace {
  const folder = makeTempFolder();
  const repo = join(folder.path, "repo");
  mkdirSync(repo);
  makeRepository(repo);
  return { folder, repo, db: join(folder.path, "ledger.db") };
}

/** The demonstration, approved to its end; gives the workflow and what is exported of it. */
export async function demonstrate({ repo, db }: Workplace): Promise<{ readonly id: string; readonly rows: string }> {
  const given = ["--repo", repo, "--db", db, "--out", "N.md", "--yes"];
  const { workflow_id: id } = await readHere<{ workflow_id: string }>("demo", ...given);
  return { id, rows: (await runHere("export", id, "--db", db)).out };
}

/** Writes a file into the test's folder; gives its path. */
export function keepAs({ path }: TempFolder, name: string, text: string): string {
  const file = join(path, name);
  writeFileSync(file, text);
  return file;
}
