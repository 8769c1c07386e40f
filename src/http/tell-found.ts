/** What a long look finds, told as it is found, and its report at the end. Never: tells more findings than `most`; they are counted. */
import type { Told } from "./sse-stream.ts";

export async function* tellFound(
  found: AsyncGenerator<object, object, void>,
  most: number,
): AsyncGenerator<Told, void, void> {
  for (let told = 0; ; ) {
    const next = await found.next();
    if (next.done === true) {
      yield { sequence: null, item: { kind: "report", ...next.value, told } };
      return;
    }
    if (told < most) {
      told += 1;
      yield { sequence: null, item: next.value };
    }
  }
}
