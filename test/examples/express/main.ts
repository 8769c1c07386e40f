/** The HTTP API inside an Express application. `npm start` */
import type { AddressInfo } from "node:net";
import { getRequestListener } from "@hono/node-server";
import { createKernel } from "countersign";
import { createHttpApp } from "countersign/http";
import express from "express";
import { person, refund } from "../shop/refund.ts";
import { tryOverHttp } from "../shop/try-over-http.ts";

await using kernel = await createKernel({ capabilities: [refund] });
const api = createHttpApp(kernel, { tokens: [{ token: "my-own", ...person("bo") }] });

const app = express();
app.get("/", (_, answer) => void answer.send("the shop"));
app.use(getRequestListener(api.fetch)); // before any body parser: the API reads bodies itself
const server = app.listen(0, "127.0.0.1");
await new Promise((listens) => server.once("listening", listens));
const at = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

console.log(await (await fetch(at)).text());
await tryOverHttp(at);
server.close();
