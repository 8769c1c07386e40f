/**
 * A program for the compiler's API, over sources or declarations, with this repository's options.
 *
 * Owns: the libraries of the language, of which the release with that API ships no files.
 */
import { join } from "node:path";
import { getLibFiles, ts } from "@ts-morph/common";
import { root } from "../tidy/source-files.ts";

const at = "/libraries";
const texts = new Map(getLibFiles().map(({ fileName, text }) => [`${at}/${fileName}`, text]));

/** A host that reads files, and libraries from memory. */
export function createHost(options: ts.CompilerOptions): ts.CompilerHost {
  const host = ts.createCompilerHost(options);
  return {
    ...host,
    getDefaultLibLocation: () => at,
    getDefaultLibFileName: (of) => `${at}/${ts.getDefaultLibFileName(of)}`,
    fileExists: (path) => texts.has(path) || host.fileExists(path),
    readFile: (path) => texts.get(path) ?? host.readFile(path),
    getSourceFile(path, version, ...more) {
      const text = texts.get(path);
      return text === undefined ? host.getSourceFile(path, version, ...more) : ts.createSourceFile(path, text, version);
    },
  };
}

/** The program of these files, seen from a folder. */
export function createProgram(folder: string, files: readonly string[]): ts.Program {
  const { config } = ts.readConfigFile(join(root, "tsconfig.json"), ts.sys.readFile);
  const { options } = ts.parseJsonConfigFileContent(config, ts.sys, folder);
  return ts.createProgram([...files], options, createHost(options));
}
