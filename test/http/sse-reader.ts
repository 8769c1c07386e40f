/**
 * Reads server-sent events from a response, byte for byte.
 * Owns: the split into messages. Never: asserts anything.
 */
export interface Message {
  readonly id: number;
  readonly event: string;
  readonly data: Readonly<Record<string, unknown>>;
  /** The names of its lines. */
  readonly lines: readonly string[];
}

export const streamPath = (workflowId: string, channel: string): string => `/v1/kernel/stream/${workflowId}/${channel}`;

/** All messages until the stream closes. */
export async function readMessages(response: Response): Promise<readonly Message[]> {
  return messagesIn(await response.text());
}

export function messagesIn(text: string): readonly Message[] {
  const blocks = text.split("\n\n").filter((block) => block.includes("data:"));
  return blocks.map((block) => {
    const lines = block.split("\n").map((line) => /^(\w+): (.*)$/.exec(line) ?? [line, line, ""]);
    const field = (name: string): string => lines.find(([, key]) => key === name)?.[2] ?? "";
    const data = JSON.parse(field("data")) as Message["data"];
    return { id: Number(field("id")), event: field("event"), data, lines: lines.map(([, key]) => key as string) };
  });
}

/** What of a stream that stays open is there by now. */
export interface OpenStream {
  readonly text: () => string;
  readonly isClosed: () => boolean;
  readonly stop: () => Promise<void>;
}

export function follow(response: Response): OpenStream {
  const reader = (response.body as ReadableStream<Uint8Array>).getReader();
  const decoder = new TextDecoder();
  let text = "";
  let closed = false;
  const read = async (): Promise<void> => {
    for (let got = await reader.read(); !got.done; got = await reader.read()) text += decoder.decode(got.value);
    closed = true;
  };
  read().catch(() => undefined);
  return { text: () => text, isClosed: () => closed, stop: () => reader.cancel() };
}
