/**
 * A small reader of server-sent events for load: it keeps the ids it saw and no more.
 * Owns: one connection. Never: reconnects.
 */
import { get } from "node:http";

export interface LoadReader {
  /** How many messages came, and whether their ids rose by one each. */
  readonly seen: () => { readonly messages: number; readonly last: number; readonly inOrder: boolean };
  /** Resolves when the answer has begun. */
  readonly begun: Promise<void>;
  readonly closed: Promise<void>;
  readonly stop: () => void;
}

export function openReader(url: string, token: string): LoadReader {
  let messages = 0;
  let last = 0;
  let inOrder = true;
  let rest = "";
  const { promise: begun, resolve: begin, reject } = Promise.withResolvers<void>();
  const { promise: closed, resolve: close } = Promise.withResolvers<void>();
  const take = (text: string): void => {
    const blocks = (rest + text).split("\n\n");
    rest = blocks.pop() ?? "";
    for (const block of blocks) {
      if (!block.startsWith("id: ")) continue;
      const id = Number(block.slice(4, block.indexOf("\n")));
      inOrder &&= id === last + 1;
      last = id;
      messages += 1;
    }
  };
  const request = get(url, { agent: false, headers: { authorization: `Bearer ${token}` } }, (response) => {
    response.setEncoding("utf8").on("data", take).on("close", close).on("error", close);
    if (response.statusCode === 200) begin();
    else reject(new Error(`answered ${response.statusCode}`));
  });
  request.on("error", (error) => {
    reject(error);
    close();
  });
  return { seen: () => ({ messages, last, inOrder }), begun, closed, stop: () => request.destroy() };
}
