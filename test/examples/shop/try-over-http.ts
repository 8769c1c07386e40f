/** What a client does over HTTP: submits, follows the workflow's events, and approves what it is shown when it is asked. */
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
  const { body: events } = await call(`/stream/${workflow_id}/events`); // from the ledger, then live; ends with the workflow
  for await (const text of events?.pipeThrough(new TextDecoderStream()) ?? []) {
    if (text.includes('"event_type":"WORKFLOW_COMPLETED"')) console.log("completed");
    if (!text.includes('"event_type":"GATE_OPENED"')) continue;
    const { gates } = (await (await call(`/gates?workflow_id=${workflow_id}`)).json()) as Shown;
    console.log("asked about", JSON.stringify(gates[0]?.payload));
    const payload = { payload_digest: gates[0]?.payload_digest }; // what was seen is what is approved
    await call(`/workflows/${workflow_id}/gate`, { decision: "approve", payload });
  }
}
