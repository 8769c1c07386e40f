/**
 * `npm run postgres`: a server from npm on 127.0.0.1, for trying. Prints its URL; it goes, with all it kept, when it is
 * told to end.
 */
import { startServer } from "./start-server.ts";

const { url, stop } = await startServer(["listen_addresses=127.0.0.1"]);
const ending = Promise.withResolvers<void>();
for (const name of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.once(name, () => ending.resolve());
console.log(url);
await ending.promise;
await stop();
