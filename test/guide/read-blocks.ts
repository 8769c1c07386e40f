/**
 * The blocks of code of a document, and what is to be done with each.
 *
 * Owns: the marks, which are comments before a block, and which blocks make one program.
 * B1  Every block is run, is kept as a file for those that run, or is what the one before it prints.
 */
import { marked, type Token, type Tokens } from "marked";

export interface Block {
  readonly lang: string;
  readonly code: string;
  /** What the comment before it says: `continues`, `file refund.ts`, `runs beside serve`; empty where there is none. */
  readonly mark: string;
  /** The heading that it stands under. */
  readonly section: string;
}

export interface Program {
  readonly name: string;
  readonly section: string;
  readonly code: string;
  /** Lines after an arrow in a comment: what the program says that it prints. */
  readonly prints: readonly string[];
}

/** A script, and after each of its blocks what the document shows of its output; null where it shows nothing. */
export interface ShellStep {
  readonly code: string;
  readonly prints: string | null;
}

const commentOf = (token: Token | undefined): string =>
  (token?.type === "html" ? /^<!--\s*(.*?)\s*-->/.exec(token.raw)?.[1] : undefined) ?? "";

/** @throws Error for a block that stands inside of something, where no mark could be before it. */
export function readBlocks(text: string): readonly Block[] {
  const blocks: Block[] = [];
  let section = "";
  const tokens = marked.lexer(text).filter(({ type }) => type !== "space");
  for (const [i, token] of tokens.entries()) {
    if (token.type === "heading") section = (token as Tokens.Heading).text;
    if (token.type === "code")
      blocks.push({ ...readCode(token as Tokens.Code), mark: commentOf(tokens[i - 1]), section });
    else if (/^\s*```/m.test(token.raw)) throw new Error(`a block inside of ${token.type} under ${section}`);
  }
  return blocks;
}

const readCode = ({ lang = "", text }: Tokens.Code) => ({ lang, code: text });

/** TypeScript blocks, each with those that it continues. */
export function programsOf(page: string, blocks: readonly Block[]): readonly Program[] {
  const whole: Block[][] = [];
  for (const block of blocks.filter(({ lang, mark }) => lang === "ts" && !mark.startsWith("file "))) {
    if (block.mark === "continues") whole.at(-1)?.push(block);
    else whole.push([block]);
  }
  return whole.map((parts, i) => {
    const code = parts.map((part) => part.code).join("\n");
    const prints = [...code.matchAll(/\/\/ → (.*)$/gm)].map(([, line = ""]) => line);
    return { name: `${page}-${i + 1}`, section: parts[0]?.section ?? "", code: `${code}\n`, prints };
  });
}

/** Blocks that are files for those that run, by name. */
export const filesOf = (blocks: readonly Block[]): ReadonlyMap<string, string> =>
  new Map(
    blocks.flatMap(({ mark, code }) => {
      const [, name] = /^file (\S+)$/.exec(mark) ?? [];
      return name === undefined ? [] : [[name, `${code}\n`] as const];
    }),
  );

/** Lines for a shell, in their order. */
export const shellOf = (blocks: readonly Block[]): readonly ShellStep[] =>
  blocks.flatMap(({ lang, code }, i) => {
    const next = blocks[i + 1];
    const shown = next !== undefined && isShown(next) ? next.code : null;
    return lang === "sh" ? [{ code, prints: shown }] : [];
  });

/** What a run before it prints. */
export const isShown = ({ lang, mark }: Block): boolean => mark === "" && ["text", "json"].includes(lang);

/** Blocks that nobody would run or compare. */
export const strayBlocks = (blocks: readonly Block[]): readonly Block[] =>
  blocks.filter((block, i) => {
    if (["ts", "sh"].includes(block.lang) || block.mark.startsWith("file ")) return false;
    return !(isShown(block) && blocks[i - 1]?.lang === "sh");
  });

/** Whether what came out is what is shown; `…` stands for anything within a line. */
export function isAsShown(shown: string, out: string): boolean {
  const escaped = shown
    .trimEnd()
    .split("…")
    .map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  return new RegExp(`^${escaped.join("[^\\n]*")}$`).test(out.trimEnd());
}
