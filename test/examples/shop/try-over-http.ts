/**
 * What a client does over HTTP: submits, follows the workflow's events, and approves what it is shown when it is asked.
 */
import { EventSourceParserStream } from "eventsource-parser/stream";
import { request } from "./refund.ts";

export type Ask = (request: Request) => Promise<Response>;

interface Shown {
  readonly gates: readonly { readonly gate_id: string; readonly payload_digest: string; readonly payload: object }[];
}

/** `at` is where the API is; `ask` is `fetch`, or the app's own. */
export async function tryOverHttp(at: string, ask: Ask = fetch): Promise<void> {
  const headers = { authorization: "Bearer my-own", "content-type": "application/json" };
  const call = async (path: string, body?: object): Promise<Response> => {
    const method = body === undefined ? "GET" : "POST";
    const answer = await ask(
      new Request(`${at}/v1/kernel${path}`, { method, headers, body: body && JSON.stringify(body) }),
    );
    if (!answer.ok) throw new Error(await answer.text());
    return answer;
  };
  const { workflow_id } = (await (await call("/submit", request)).json()) as { workflow_id: string };
  const { body } = await call(`/stream/${workflow_id}/events`); // from the ledger, then live; ends with the workflow
  const messages = body!.pipeThrough(new TextDecoderStream()).pipeThrough(new EventSourceParserStream());
  for await (const { data } of messages) {
    const { event_type } = JSON.parse(data);
    if (event_type === "WORKFLOW_COMPLETED") console.log("completed");
    if (event_type !== "GATE_OPENED") continue;
    const { gates } = (await (await call(`/gates?workflow_id=${workflow_id}`)).json()) as Shown;
    for (const { gate_id, payload, payload_digest } of gates) {
      console.log("asked about", JSON.stringify(payload));
      const seen = { payload_digest }; // what was seen is what is approved
      await call(`/workflows/${workflow_id}/gate`, { gate_id, decision: "approve", payload: seen });
    }
  }
}
