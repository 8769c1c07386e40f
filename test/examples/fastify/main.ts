/** The HTTP API inside a Fastify application. `npm start` */
import { getRequestListener } from "@hono/node-server";
import { createKernel } from "countersign";
import { createHttpApp } from "countersign/http";
import Fastify from "fastify";
import { person, refund } from "../shop/refund.ts";
import { tryOverHttp } from "../shop/try-over-http.ts";

await using kernel = await createKernel({ capabilities: [refund] });
const api = createHttpApp(kernel, { tokens: [{ token: "my-own", ...person("bo") }] });
const listener = getRequestListener(api.fetch);

const app = Fastify();
app.get("/", async () => "the shop");
await app.register(async (routes) => {
  routes.removeAllContentTypeParsers(); // the API reads bodies itself
  routes.addContentTypeParser("*", (_request, _body, done) => done(null));
  routes.all("/v1/*", async (request, reply) => {
    reply.hijack();
    await listener(request.raw, reply.raw);
  });
});
const at = await app.listen({ host: "127.0.0.1", port: 0 });

console.log(await (await fetch(at)).text());
await tryOverHttp(at);
await app.close();
