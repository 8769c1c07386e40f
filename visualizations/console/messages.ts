/**
 * The messages of a stream that answers a request: server-sent events, which EventSource cannot ask for with a body.
 */

/** Hears the data of each, in their order. Rejects where the stream breaks off. */
export async function readMessages<T>(response: Response, listener: (data: T) => void): Promise<void> {
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  if (reader === undefined) return;
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const messages = (rest + value).split("\n\n");
    rest = messages.pop() ?? "";
    for (const message of messages) {
      const data = message.split("\n").find((line) => line.startsWith("data: "));
      if (data !== undefined) listener(JSON.parse(data.slice("data: ".length)) as T);
    }
  }
}
