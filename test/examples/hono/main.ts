/** The HTTP API inside a Hono application: a `fetch` function inside another, on any runtime. `npm start` */
import { createKernel } from "countersign";
import { createHttpApp } from "countersign/http";
import { Hono } from "hono";
import { person, refund } from "../shop/refund.ts";
import { tryOverHttp } from "../shop/try-over-http.ts";

await using kernel = await createKernel({ capabilities: [refund] });
const api = createHttpApp(kernel, { tokens: [{ token: "my-own", ...person("bo") }] });

const app = new Hono();
app.get("/", (c) => c.text("the shop"));
app.all("/v1/*", (c) => api.fetch(c.req.raw));

console.log(await (await app.request("/")).text());
await tryOverHttp("http://shop.example", async (request) => app.fetch(request)); // or serve `app.fetch` on an address
