/** The entry `countersign/http`: a kernel's HTTP API, as a `fetch` function or on an address. @module */
export { SessionView } from "../../contract/session.ts";
export type { Route, RouteAnswer } from "./add-route.ts";
export { createHttpApp, type HttpApp } from "./create-http-app.ts";
export {
  type Authenticate,
  type Callback,
  defaultHttpLimits,
  type HookAnswer,
  HttpCaller,
  type HttpLimits,
  type HttpOptions,
  type HttpSeen,
  type JwtOptions,
  type Mount,
  type SessionOptions,
  type StaticToken,
} from "./http-options.ts";
export { defaultServerLimits, type HttpAddress, type HttpServer, type ServerLimits, serveHttp } from "./serve-http.ts";
