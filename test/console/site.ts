/**
 * A server with a console, as `serve` opens it: a kernel over a ledger, the API, an address of this machine.
 *
 * Owns: callers of one tenant, ways to sign a browser in. Never: takes another way than production does.
 */
import {
  createHttpApp,
  type HttpApp,
  type HttpOptions,
  type HttpServer,
  serveHttp,
} from "../../src/faces/http/index.ts";
import { createKernel, type Kernel, type KernelOptions } from "../../src/index.ts";
import { type Visitor, visit } from "./browser.ts";

export interface Site extends AsyncDisposable {
  readonly kernel: Kernel;
  readonly app: HttpApp;
  readonly url: string;
  /** The address that signs this person in, once. */
  readonly link: (person: Person) => Promise<string>;
  /** Ends the server, as a restart does; the kernel and the sessions stay. */
  readonly leave: () => Promise<void>;
  /** Starts the server again, at the same address. */
  readonly comeBack: () => Promise<void>;
  /** A browser in which this person has signed in. */
  readonly enter: (person: Person, options?: Parameters<typeof visit>[1]) => Promise<Visitor>;
}

export interface Person {
  readonly tenant_id: number;
  readonly principal: { readonly type: string; readonly id: string | number; readonly role: string };
}

const person = (id: string | number, role: string): Person => ({ tenant_id: 1, principal: { type: "user", id, role } });
export const ann = person("ann", "user");
export const bo = person("bo", "user");
export const admin = person("max", "admin");

export interface SiteOptions {
  readonly kernel?: KernelOptions;
  readonly http?: Partial<HttpOptions>;
  readonly port?: number;
}

export async function openSite({ kernel: kernelOptions = {}, http = {}, port = 0 }: SiteOptions = {}): Promise<Site> {
  const kernel = await createKernel(kernelOptions);
  const app = createHttpApp(kernel, { sessions: { home: "/" }, console: true, retryMs: 50, ...http });
  let server: HttpServer = await serveHttp(app, { port });
  const { url } = server;
  const link = async (who: Person): Promise<string> => `${url}${await app.loginPath(who)}`;
  return {
    kernel,
    app,
    url,
    link,
    leave: () => server.close(),
    async comeBack() {
      server = await serveHttp(app, { port: Number(new URL(url).port) });
    },
    async enter(who, options) {
      const visitor = await visit(await link(who), options);
      await visitor.page.getByRole("button", { name: "Sign in" }).press("Enter");
      await visitor.page.getByRole("navigation", { name: "Console" }).waitFor();
      return visitor;
    },
    async [Symbol.asyncDispose]() {
      await server.close();
      await kernel.stop({ drainMs: 0 });
    },
  };
}

export const hashOf = (workflowId: string, rest = ""): string => `/#/w/${workflowId}${rest}`;
