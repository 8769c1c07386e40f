/** Calls the route handlers as Next calls them; `npm run dev` serves the same files. `npm start` */
import { tryOverHttp } from "../shop/try-over-http.ts";
import { GET, POST } from "./app/v1/kernel/[...path]/route.ts";
import { opened } from "./kernel.ts";

await tryOverHttp("http://shop.example", (request) => (request.method === "GET" ? GET : POST)(request));
await (await opened()).kernel.stop();
