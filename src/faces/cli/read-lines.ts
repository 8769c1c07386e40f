/**
 * The lines of a file of JSON Lines.
 *
 * 1.  Lines end with LF and nothing else, as they are written; a line that is no UTF-8 comes as what is no JSON.
 * 2.  A file that cannot be read is refused with a code (refuse-file.ts).
 */
import { createReadStream, statSync } from "node:fs";
import { isFileRefusal, refuseFile } from "./refuse-file.ts";

/** @throws KernelErrorException T0_CLI_FILE_INVALID, and the reason of `signal`, between two pieces of the file. */
export const readFileLines = (path: string, signal: AbortSignal): AsyncGenerator<string> =>
  readLines(readUntil(signal, readChunks(path)));

async function* readUntil(signal: AbortSignal, chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  for await (const chunk of chunks) {
    signal.throwIfAborted();
    yield chunk;
  }
  signal.throwIfAborted();
}

async function* readChunks(path: string): AsyncGenerator<Buffer> {
  try {
    if (statSync(path, { throwIfNoEntry: false })?.isFile() !== true) refuseFile(path, "it is not a file");
    yield* createReadStream(path);
  } catch (error) {
    if (isFileRefusal(error)) throw error;
    refuseFile(path, `it cannot be read: ${(error as Error).message}`);
  }
}

const lineEnd = 0x0a;

export async function* readLines(chunks: AsyncIterable<Buffer>): AsyncGenerator<string> {
  let rest: Buffer[] = [];
  for await (const chunk of chunks) {
    let from = 0;
    for (let end = chunk.indexOf(lineEnd); end !== -1; end = chunk.indexOf(lineEnd, from)) {
      yield decode([...rest, chunk.subarray(from, end)]);
      rest = [];
      from = end + 1;
    }
    rest.push(chunk.subarray(from));
  }
  yield decode(rest);
}

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

function decode(pieces: readonly Buffer[]): string {
  try {
    return utf8.decode(Buffer.concat(pieces));
  } catch {
    return "(no UTF-8)";
  }
}
