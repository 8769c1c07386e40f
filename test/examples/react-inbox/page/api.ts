/** The typed client: paths, bodies and answers are those of the API's own document. */
import type { components, paths } from "countersign/api";
import createClient from "openapi-fetch";

export type Schemas = components["schemas"];

export const api = createClient<paths>({ baseUrl: location.origin });

api.use({
  /** What changes something shows the session's token, which pages of other sites cannot read. */
  async onRequest({ request }) {
    if (request.method === "GET") return;
    const { data } = await api.GET("/v1/session");
    request.headers.set("x-csrf-token", data?.csrf_token ?? "");
    return request;
  },
  onError: () => Response.json({ detail: "The server cannot be reached." }, { status: 503 }),
});
