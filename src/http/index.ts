/** The entry `countersign/http`: a kernel's HTTP API, as a `fetch` function or on an address. */
export { createHttpApp, type HttpApp } from "./create-http-app.ts";
export {
  type Authenticate,
  defaultHttpLimits,
  HttpCaller,
  type HttpLimits,
  type HttpOptions,
  type JwtOptions,
  type Mount,
  type StaticToken,
} from "./http-options.ts";
export { type HttpAddress, type HttpServer, serveHttp } from "./serve-http.ts";
